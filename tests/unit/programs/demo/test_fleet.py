"""Fleet of the demo."""

from compute_agent.virt.simulated.simulated_hosts import parse_hosts
from programs.demo import fleet


def test_there_are_twenty_simulated_hosts_of_several_sizes() -> None:
    """As the driver reads the declarations."""
    hosts = parse_hosts([hosts.declaration for hosts in fleet.FLEET])
    assert len(hosts) == 20
    assert len({host.resources for host in hosts}) == 4
    assert fleet.HOSTS_TOTAL == 21


def test_the_failing_host_is_the_biggest_in_everything() -> None:
    """So the weighers choose it first."""
    hosts = parse_hosts([hosts.declaration for hosts in fleet.FLEET])
    failing = next(host for host in hosts if host.name == fleet.FAILING_HOST)
    for amount in ("vcpus", "memory_mb", "disk_gb"):
        biggest = max(hosts, key=lambda host: getattr(host.resources, amount))
        assert biggest is failing


def test_the_configuration_names_the_failing_host() -> None:
    """By the option of the simulated driver."""
    assert f"failing_hosts = {fleet.FAILING_HOST}\n" in fleet.CONFIGURATION
