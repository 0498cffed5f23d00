"""A host's record: inventories, reserve, the precedence of allocation ratios, traits."""

from typing import Any

import pytest

from armillary import exception
from compute_agent.host.allocation_ratios import AllocationRatios
from compute_agent.host.provider_config import ProviderConfig
from compute_agent.host.provider_config_file import Entry
from compute_agent.host.resource_tracker import ResourceTracker
from compute_agent.monitors import HostMonitors, Monitor, MonitorPlugin
from compute_agent.virt.driver import HostResources, Readings
from compute_agent.virt.simulated.simulated_driver import SimulatedDriver
from compute_agent.virt.simulated.simulated_hosts import SimulatedHost, parse_hosts
from tests import builders
from tests.fixtures.agent import A_HOST, HOSTS, Agent, a_build

NODE_UUID = builders.a_uuid()


def a_tracker(
    agent: Agent, resources: HostResources = A_HOST, traits: frozenset[str] = frozenset()
) -> ResourceTracker:
    """Return the tracker of the agent's first host."""
    assert agent.journal is not None
    declared = SimulatedHost(HOSTS[0], resources, traits)
    driver = SimulatedDriver(agent.conf, declared, agent.drivers[HOSTS[0]]._store, "192.0.2.1")
    return ResourceTracker(
        agent.conf, driver=driver, journal=agent.journal, ratios=AllocationRatios(agent.conf),
        monitors=HostMonitors(agent.conf, [], driver), node_uuid=NODE_UUID,
    )  # fmt: skip


def test_an_inventory_says_what_there_is_and_what_is_kept(agent: Agent) -> None:
    """In the form that placement takes; the ratio is left to it."""
    agent.conf.set_override("reserved_host_cpus", 2)
    node = a_tracker(agent).compute_node()
    assert node.inventories["VCPU"] == {
        "total": 16, "reserved": 2, "min_unit": 1, "max_unit": 16, "step_size": 1,
        "allocation_ratio": None, "initial_allocation_ratio": 4.0,
    }  # fmt: skip
    assert node.inventories["MEMORY_MB"]["reserved"] == 512
    assert node.inventories["DISK_GB"]["initial_allocation_ratio"] == 1.0


def test_each_guest_reserves_its_overhead(agent: Agent) -> None:
    """K04: beside what the host keeps for itself; it counts as used."""
    agent.conf.set_override("guest_overhead_memory_mb", 200, group="compute")
    agent.conf.set_override("guest_overhead_vcpus", 1, group="compute")
    assert a_tracker(agent).compute_node().inventories["MEMORY_MB"]["reserved"] == 512
    for _ in range(2):
        agent.build(*a_build(flavor=builders.a_flavor(vcpus=4, memory_mb=1024)))
    node = a_tracker(agent).compute_node()
    assert node.inventories["MEMORY_MB"]["reserved"] == 512 + 2 * 200
    assert node.inventories["VCPU"]["reserved"] == 2
    used_mb = node.attributes["total_usable_ram_mb"] - node.attributes["free_ram_mb"]
    assert used_mb == 512 + 2 * (1024 + 200)
    assert node.attributes["vcpus_used"] == 2 * (4 + 1)


def test_the_record_names_host_node_and_provider(agent: Agent) -> None:
    """The UUID is the provider's; every compute node has the trait that says so."""
    node = a_tracker(agent, traits=frozenset({"HW_CPU_X86_AVX2"})).compute_node()
    assert (node.uuid, node.host, node.node) == (NODE_UUID, HOSTS[0], HOSTS[0])
    assert node.traits == ["COMPUTE_NODE", "HW_CPU_X86_AVX2", "OWNER_NOVA"]


def test_a_host_without_disk_has_no_disk_inventory(agent: Agent) -> None:
    """Placement takes no inventory of nothing."""
    node = a_tracker(agent, HostResources(vcpus=1, memory_mb=1024, disk_gb=0)).compute_node()
    assert sorted(node.inventories) == ["MEMORY_MB", "VCPU"]


def test_dedicated_cpus_are_an_inventory_of_their_own(agent: Agent) -> None:
    """Each is handed out once and none is reserved, whatever holds for shared ones."""
    agent.conf.set_override("reserved_host_cpus", 2)
    agent.conf.set_override("cpu_allocation_ratio", 8.0)
    resources = HostResources(vcpus=4, memory_mb=1024, disk_gb=0, pcpus=12)
    node = a_tracker(agent, resources).compute_node()
    assert node.inventories["PCPU"] == {
        "total": 12, "reserved": 0, "min_unit": 1, "max_unit": 12, "step_size": 1,
        "allocation_ratio": 1.0, "initial_allocation_ratio": 1.0,
    }  # fmt: skip
    assert (node.inventories["VCPU"]["total"], node.inventories["VCPU"]["reserved"]) == (4, 2)
    assert node.attributes["vcpus_total"] == 16


def test_a_host_of_dedicated_cpus_alone_has_no_vcpus(agent: Agent) -> None:
    """Nothing can be shared there."""
    resources = HostResources(vcpus=0, memory_mb=1024, disk_gb=0, pcpus=4)
    assert sorted(a_tracker(agent, resources).compute_node().inventories) == ["MEMORY_MB", "PCPU"]


def test_more_reserve_than_there_is_offers_nothing(agent: Agent) -> None:
    """All of it is reserved, and no more than all."""
    node = a_tracker(agent, HostResources(vcpus=1, memory_mb=256, disk_gb=1)).compute_node()
    assert node.inventories["MEMORY_MB"]["reserved"] == 256


@pytest.mark.parametrize(
    ("explicit", "in_placement", "expected"),
    [(None, None, 4.0), (None, 8.0, 8.0), (2.0, 8.0, 2.0), (2.0, None, 2.0)],
    ids=["initial", "placement", "option-over-placement", "option"],
)
def test_ratio_precedence(
    agent: Agent, explicit: float | None, in_placement: float | None, expected: float
) -> None:
    """Explicit option, value in placement, initial one; only the first is sent as the ratio."""
    agent.conf.set_override("cpu_allocation_ratio", explicit)
    tracker = a_tracker(agent)
    if in_placement is not None:
        tracker.note_ratios({"VCPU": in_placement})
    node = tracker.compute_node()
    assert node.attributes["cpu_allocation_ratio"] == expected
    assert node.inventories["VCPU"]["allocation_ratio"] == explicit


def test_a_ratio_that_changes_is_noticed(agent: Agent) -> None:
    """The record has to be sent again with it; the same ratio twice is not a change."""
    tracker = a_tracker(agent)
    assert tracker.note_ratios({"VCPU": 8.0})
    assert not tracker.note_ratios({"VCPU": 8.0})


def test_the_record_has_what_monitors_measured(agent: Agent) -> None:
    """Again each time."""
    assert agent.journal is not None
    driver = agent.drivers[HOSTS[0]]
    values = iter([0.25, 0.5])

    class Measuring(Monitor):
        def measure(self) -> Readings:
            return Readings({"cpu.percent": next(values)}, builders.A_TIME)

    monitors = HostMonitors(agent.conf, [MonitorPlugin("cpu.mine", Measuring)], driver)
    tracker = ResourceTracker(
        agent.conf, driver=driver, journal=agent.journal, ratios=AllocationRatios(agent.conf),
        monitors=monitors, node_uuid=NODE_UUID,
    )  # fmt: skip
    measured = [tracker.compute_node().attributes["metrics"][0]["value"] for _ in range(2)]
    assert measured == [0.25, 0.5]


def test_usage_follows_the_journal(agent: Agent) -> None:
    """From the command on; only this host's instances."""
    agent.build(*a_build(flavor=builders.a_flavor(vcpus=4)))
    agent.build(*a_build(HOSTS[1]))
    attributes = a_tracker(agent).compute_node().attributes
    assert (attributes["vcpus_used"], attributes["num_io_ops"]) == (4, 1)


@pytest.mark.parametrize(("threshold", "expected"), [(10, 1), (0, 0)])
def test_failed_builds_count_unless_turned_off(agent: Agent, threshold: int, expected: int) -> None:
    """The option's zero turns the counting off."""
    agent.conf.set_override("failing_hosts", ["sim-1"], group="simulated")
    agent.conf.set_override(
        "consecutive_build_service_disable_threshold", threshold, group="compute"
    )
    agent.build(*a_build())
    agent.settle()
    attributes = a_tracker(agent).compute_node().attributes
    assert (attributes["failed_builds"], attributes["stats"]["failed_builds"]) == (expected,) * 2


def a_host(agent: Agent, declared: str, config: ProviderConfig | None = None) -> ResourceTracker:
    """Return the tracker of a host as ``[simulated] hosts`` declares it, without the name."""
    assert agent.journal is not None
    (host,) = parse_hosts([f"name={HOSTS[0]}:{declared}"])
    driver = SimulatedDriver(agent.conf, host, agent.drivers[HOSTS[0]]._store, "192.0.2.1")
    return ResourceTracker(
        agent.conf, driver=driver, journal=agent.journal, ratios=AllocationRatios(agent.conf),
        monitors=HostMonitors(agent.conf, [], driver), node_uuid=NODE_UUID, provider_config=config,
    )  # fmt: skip


def an_addition(name: str, *traits: str, inventories: dict[str, Any] | None = None) -> Entry:
    """Return an entry of a provider configuration file."""
    return Entry("here", None, name, inventories or {}, frozenset(traits))


def test_the_record_has_what_operators_add(agent: Agent) -> None:
    """To the node and to its parts, each by its name."""
    agent.conf.set_override("numa_nodes_in_placement", True, group="compute")
    slots = {"CUSTOM_SLOT": {"total": 3}}
    config = ProviderConfig(
        [
            an_addition(HOSTS[0], "CUSTOM_RACK", inventories=slots),
            an_addition(f"{HOSTS[0]}_NUMA1", "CUSTOM_NEAR", inventories=slots),
        ]
    )
    tracker = a_host(agent, "vcpus=4:memory_mb=4096:disk_gb=10:numa=2", config)
    config.check(tracker.check())
    node = tracker.compute_node()
    assert "CUSTOM_RACK" in node.traits
    assert node.inventories["CUSTOM_SLOT"] == {"total": 3}
    first, second = node.child_providers
    assert (first["inventories"], first["traits"]) == ({}, ["HW_NUMA_ROOT"])
    assert (second["inventories"], second["traits"]) == (slots, ["CUSTOM_NEAR", "HW_NUMA_ROOT"])


def test_pools_name_the_providers_that_the_record_has(agent: Agent) -> None:
    """Where devices are reported; elsewhere a pool holds all that are alike."""
    declared = "vcpus=4:memory_mb=4096:disk_gb=10:pci=8086/10ed@3"
    (pool,) = a_host(agent, declared).compute_node().attributes["pci_stats"]
    assert (pool["count"], "rp_uuid" in pool) == (3, False)
    agent.conf.set_override("report_in_placement", True, group="pci")
    node = a_host(agent, declared).compute_node()
    pools = node.attributes["pci_stats"]
    assert [pool["count"] for pool in pools] == [1, 1, 1]
    assert {pool["rp_uuid"] for pool in pools} == {child["uuid"] for child in node.child_providers}


@pytest.mark.parametrize(
    ("option", "value"),
    [("reserved_huge_pages", ["node:0,size:2048,count:1"]), ("reserved_huge_pages", ["x"])],
    ids=["no-such-pages", "no-text"],
)
def test_pages_that_are_not_there_keep_the_agent_down(
    agent: Agent, option: str, value: list[str]
) -> None:
    """What cannot be reserved would be given away."""
    agent.conf.set_override(option, value)
    with pytest.raises(exception.ConfigurationError, match="reserved_huge_pages"):
        a_tracker(agent).check()


def test_cells_are_reported_without_what_is_reserved(agent: Agent) -> None:
    """So schedulers do not choose a host whose agent would say no."""
    agent.conf.set_override("reserved_host_memory_mb", 1000)
    node = a_host(agent, "vcpus=4:memory_mb=4096:disk_gb=10:numa=2").compute_node()
    cells = node.attributes["numa_topology"]["cells"]
    assert [cell["memory_mb"] - cell["memory_mb_used"] for cell in cells] == [1048, 2048]
