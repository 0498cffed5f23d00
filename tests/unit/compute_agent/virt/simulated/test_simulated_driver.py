"""The simulated driver: how long builds take, which fail, what stays."""

import json
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from armillary import exception
from compute_agent.virt.driver import GuestInfo
from compute_agent.virt.simulated.simulated_driver import SimulatedDriver
from tests import builders
from tests.fixtures.agent import agent_conf
from tests.fixtures.agent.simulated import SimulatedHosts
from tests.fixtures.checks import go_types


@pytest.fixture
def conf(tmp_path: Path) -> cfg.ConfigOpts:
    """Return the configuration of two simulated hosts."""
    conf = agent_conf(tmp_path)
    conf.set_override(
        "hosts", ["name=sim-{1..2}:vcpus=8:memory_mb=8192:disk_gb=50"], group="simulated"
    )
    return conf


def drivers(conf: cfg.ConfigOpts) -> list[SimulatedDriver]:
    made = SimulatedDriver.make_hosts(conf, Path(conf.state_path))
    for driver in made:
        driver.init_host([])
    return made


def set_options(conf: cfg.ConfigOpts, **values: Any) -> None:
    for name, value in values.items():
        conf.set_override(name, value, group="simulated")


def outcomes(driver: SimulatedDriver, uuids: list[str]) -> list[bool]:
    """Return which builds succeed."""
    results = []
    for uuid in uuids:
        try:
            driver.spawn(builders.an_instance(uuid=uuid))
            results.append(True)
        except exception.BuildFailed:
            results.append(False)
    return results


def test_a_guest_runs_on_its_host_until_it_is_destroyed(conf: cfg.ConfigOpts) -> None:
    """Twice is fine, both ways; the other host has nothing."""
    first, second = drivers(conf)
    instance = builders.an_instance()
    for _ in range(2):
        assert first.spawn(instance) == GuestInfo(instance.uuid, "running")
    assert first.list_guests() == [GuestInfo(instance.uuid, "running")]
    assert second.list_guests() == []
    for _ in range(2):
        first.destroy(instance.uuid)
    assert first.list_guests() == []


def test_its_cpu_has_what_clients_decode(conf: cfg.ConfigOpts) -> None:
    """Terraform's provider does not read hypervisors of which a part is missing."""
    info = json.loads(str(drivers(conf)[0].get_attributes()["cpu_info"]))
    assert info.keys() == go_types.CPU_INFO.keys()
    assert go_types.misfits(info, go_types.CPU_INFO) == []
    assert info["topology"] == {"sockets": 1, "cores": 8, "threads": 1}


def test_guests_survive_the_agent(conf: cfg.ConfigOpts) -> None:
    """Also when it had no time to close anything."""
    instance = builders.an_instance()
    drivers(conf)[0].spawn(instance)
    again = drivers(conf)[0]
    assert again.list_guests() == [GuestInfo(instance.uuid, "running")]


def test_some_hosts_always_fail(conf: cfg.ConfigOpts) -> None:
    """By name or glob, and as soon as the option says so; nothing is left of the build."""
    first, second = drivers(conf)
    set_options(conf, failing_hosts=["other", "sim-[2-9]"])
    assert outcomes(first, [builders.a_uuid()]) == [True]
    assert outcomes(second, [builders.a_uuid()]) == [False]
    assert second.list_guests() == []


@pytest.mark.parametrize(("rate", "least", "most"), [(0.0, 100, 100), (0.5, 30, 70), (1.0, 0, 0)])
def test_so_many_builds_fail(conf: cfg.ConfigOpts, rate: float, least: int, most: int) -> None:
    """As the rate says."""
    set_options(conf, failure_rate=rate)
    uuids = [f"00000000-0000-4000-8000-{number:012d}" for number in range(100)]
    assert least <= sum(outcomes(drivers(conf)[0], uuids)) <= most


def test_the_same_seed_fails_the_same_builds(conf: cfg.ConfigOpts) -> None:
    """On the same host, in whatever order; another seed fails others."""
    set_options(conf, failure_rate=0.5)
    uuids = [f"00000000-0000-4000-8000-{number:012d}" for number in range(50)]
    first = outcomes(drivers(conf)[0], uuids)
    for driver in drivers(conf):
        for uuid in uuids:
            driver.destroy(uuid)
    assert outcomes(drivers(conf)[0], uuids[::-1])[::-1] == first
    set_options(conf, failure_seed=1)
    assert outcomes(drivers(conf)[1], uuids) != first


def test_a_build_takes_as_long_as_it_should(simulated: SimulatedHosts) -> None:
    """Between the two bounds; a maximum below the minimum counts as equal."""
    for least, most in ((2.0, 3.0), (5.0, 1.0)):
        simulated.set_options(build_delay_seconds_min=least, build_delay_seconds_max=most)
        simulated.agent()[0].spawn(builders.an_instance())
    assert 2.0 <= simulated.slept[0] <= 3.0
    assert simulated.slept[1] == 5.0


def test_an_operation_that_does_not_exist_cannot_be_made_to_fail(conf: cfg.ConfigOpts) -> None:
    """The agent says so before it starts."""
    set_options(conf, failing_operations=["sim-1:explode"])
    with pytest.raises(exception.ConfigurationError, match="unknown operation 'explode'"):
        drivers(conf)


def test_no_host_is_a_mistake(conf: cfg.ConfigOpts) -> None:
    """A configuration with simulated hosts says which."""
    set_options(conf, hosts=[])
    with pytest.raises(exception.ConfigurationError, match=r"\[simulated\] hosts is empty"):
        drivers(conf)
