"""A host's record: inventories, reserve, the precedence of allocation ratios, traits."""

from __future__ import annotations

import pytest

from compute_agent.allocation_ratios import AllocationRatios
from compute_agent.monitors import HostMonitors, Monitor, MonitorPlugin
from compute_agent.resource_tracker import ResourceTracker
from compute_agent.virt.driver import HostResources, Readings
from compute_agent.virt.simulated import SimulatedDriver
from compute_agent.virt.simulated_hosts import SimulatedHost
from tests import builders
from tests.fixtures.agent import A_HOST, HOSTS, Agent, an_order

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
    [
        (None, None, 4.0),
        (None, 8.0, 8.0),
        (2.0, 8.0, 2.0),
        (2.0, None, 2.0),
    ],
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
    """The record has to be sent again with it; the same ratio twice is no change."""
    tracker = a_tracker(agent)
    assert tracker.note_ratios({"VCPU": 8.0})
    assert not tracker.note_ratios({"VCPU": 8.0})


def test_the_record_has_what_monitors_measured(agent: Agent) -> None:
    """Anew each time."""
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
    """From the order on; only this host's instances."""
    agent.build(*an_order(flavor=builders.a_flavor(vcpus=4)))
    agent.build(*an_order(HOSTS[1]))
    attributes = a_tracker(agent).compute_node().attributes
    assert (attributes["vcpus_used"], attributes["num_io_ops"]) == (4, 1)


@pytest.mark.parametrize(("threshold", "expected"), [(10, 1), (0, 0)])
def test_failed_builds_count_unless_turned_off(agent: Agent, threshold: int, expected: int) -> None:
    """The option's zero turns the counting off."""
    agent.conf.set_override("failing_hosts", ["sim-1"], group="simulated")
    agent.conf.set_override(
        "consecutive_build_service_disable_threshold", threshold, group="compute"
    )
    agent.build(*an_order())
    agent.settle()
    attributes = a_tracker(agent).compute_node().attributes
    assert (attributes["failed_builds"], attributes["stats"]["failed_builds"]) == (expected,) * 2
