"""Claims of NUMA cells, dedicated CPUs and PCI devices: fitted, written down, given back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from compute_agent.host.child_providers import device_uuid, unclaimed_in
from compute_agent.host.host_topology import FreeTopology, misplaced
from compute_agent.host.instance_topology import InstancePlacement, PlacementWanted
from compute_agent.host.pci_devices import PciDevice
from compute_agent.host.resource_tracker import ResourceTracker
from compute_agent.monitors import HostMonitors
from compute_agent.virt.driver import GuestInfo
from objects import numa
from objects.instance import Instance
from objects.pci.pci import PciRequest
from objects.pci.pci_claimed import with_providers
from objects.request_spec import RequestSpec, SchedulerLimits
from tests import builders
from tests.fixtures.agent import HOSTS, Agent, a_build
from tests.fixtures.messages.direct_bus import Killed, moments

HOST = HOSTS[0]
TWO_CELLS = (
    "vcpus=8:memory_mb=8192:disk_gb=500:pcpus=8:numa=2:siblings=2:hugepages=2048@1024"
    ":pci=8086/10ed/VF@2+10de/1db4@2"
)
"""Cell 0: dedicated CPUs 0-3, shared 4-7, 4 GiB, a VF and a card; cell 1: 8-11, 12-15, the same."""

Command = tuple[Instance, RequestSpec]
unavailable = exception.ComputeResourcesUnavailable


def start(state_path: Path, declared: str = TWO_CELLS) -> Agent:
    state_path.mkdir(exist_ok=True)
    return Agent(state_path, declared=declared)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """Return an agent whose hosts have two cells, dedicated CPUs and devices."""
    made = start(tmp_path)
    yield made
    made.close()


def cells(*wanted: dict[str, Any], **policies: str) -> dict[str, Any]:
    """Return what an instance asks for: its cells, numbered, and its policies."""
    defaults = {"vcpus": [], "pinned_vcpus": [], "memory_mb": 512, "page_size_kb": None}
    numbered = [{"id": number, **defaults, **cell} for number, cell in enumerate(wanted)]
    return numa.InstanceTopology.from_plain({"cells": numbered, **policies}).to_plain()


def pinned(count: int, **values: Any) -> dict[str, Any]:
    """Return a topology of one cell with so many vCPUs that have CPUs of their own."""
    return cells({"pinned_vcpus": list(range(count)), **values}, cpu_policy="dedicated")


def shared(count: int, **values: Any) -> dict[str, Any]:
    return cells({"vcpus": list(range(count)), **values}, cpu_policy="shared")


def devices(vendor_id: str, count: int = 1, policy: str | None = None) -> dict[str, Any]:
    return PciRequest("card", count, ({"vendor_id": vendor_id},), policy).to_plain()


def claim(agent: Agent, command: Command) -> InstancePlacement:
    assert agent.journal is not None
    agent.journal.accept_builds([command])
    place = agent.claims.claim(admin_context(), *command)
    assert place is not None
    return place


def claim_topology(agent: Agent, topology: dict[str, Any], **values: Any) -> numa.InstanceTopology:
    place = claim(agent, a_build(numa_topology=topology, **values))
    assert place.numa_topology is not None
    return place.numa_topology


def report(agent: Agent) -> dict[str, Any]:
    """Return the attributes of the first host as they would be reported now."""
    assert agent.journal is not None
    driver = agent.drivers[HOST]
    tracker = ResourceTracker(
        agent.conf, driver=driver, journal=agent.journal, ratios=agent.ratios,
        monitors=HostMonitors(agent.conf, [], driver), node_uuid=builders.a_uuid(),
    )  # fmt: skip
    return tracker.compute_node().attributes


def reported_cells(agent: Agent) -> tuple[numa.HostCell, ...]:
    return numa.HostTopology.from_plain(report(agent)["numa_topology"]).cells


def free_counts(agent: Agent) -> dict[tuple[str, int], int]:
    """Return how many devices are reported, by vendor and cell."""
    return {
        (pool["vendor_id"], pool["numa_node"]): pool["count"] for pool in report(agent)["pci_stats"]
    }


# Cells and CPUs -----------------------------------------------------------------------------------


def test_what_asks_for_nothing_of_it_sits_anywhere(agent: Agent) -> None:
    """Its CPUs and memory are not counted in a cell."""
    assert claim(agent, a_build()) == InstancePlacement()
    assert [cell.cpus_used for cell in reported_cells(agent)] == [0, 0]


def test_dedicated_cpus_are_given_to_one_alone(agent: Agent) -> None:
    """Until no cell has enough; the reason says what was left."""
    taken = [claim_topology(agent, pinned(3)) for _ in range(2)]
    cpus = [topology.cells[0].cpus_taken for topology in taken]
    assert cpus[0].isdisjoint(cpus[1])
    assert cpus[0] | cpus[1] <= {*range(4), *range(8, 12)}
    with pytest.raises(unavailable, match="1 dedicated CPUs,"):
        claim_topology(agent, pinned(2))


def test_what_is_claimed_is_reported(agent: Agent) -> None:
    """CPUs, memory and pages of the cell, with the ratios in force."""
    agent.ratios.note(HOST, {"VCPU": 2.0, "MEMORY_MB": 1.5})
    place = claim_topology(agent, pinned(2, memory_mb=1024, page_size_kb=2048))
    topology = numa.HostTopology.from_plain(report(agent)["numa_topology"])
    assert (topology.cpu_allocation_ratio, topology.ram_allocation_ratio) == (2.0, 1.5)
    (cell,) = (cell for cell in topology.cells if cell.id in place.host_cells)
    assert cell.pinned == place.cells[0].cpus_taken
    assert cell.memory_mb_used == 1024
    assert [(pool.size_kb, pool.used) for pool in cell.huge_pages] == [(2048, 512)]


def test_a_place_is_given_back_when_nothing_is_left_of_the_instance(agent: Agent) -> None:
    """Not when the command to delete comes: until then it may still run there."""
    instance, spec = a_build(numa_topology=pinned(4), pci_requests=[devices("10de")])
    agent.conductor.expect(instance)
    agent.build(instance, spec)
    agent.settle()
    before = (reported_cells(agent), free_counts(agent))
    assert report(agent)["placed_instances"] == [instance.uuid]
    agent.work.delete(instance.uuid, HOST)
    assert (reported_cells(agent), free_counts(agent)) == before
    agent.settle()
    assert report(agent)["placed_instances"] == []
    assert all(not cell.pinned for cell in reported_cells(agent))
    assert sum(free_counts(agent).values()) == 4


def test_a_failed_build_gives_its_place_back(agent: Agent) -> None:
    """Its attempt is over here."""
    agent.conf.set_override("failing_hosts", [HOST], group="simulated")
    instance, spec = a_build(numa_topology=pinned(4))
    agent.conductor.expect(instance)
    agent.build(instance, spec)
    agent.settle()
    assert all(not cell.pinned for cell in reported_cells(agent))


def test_an_instance_that_waits_for_its_build_is_counted_where_it_will_be(agent: Agent) -> None:
    """Schedulers see it as soon as the command is there."""
    instance, spec = a_build(numa_topology=pinned(4), pci_requests=[devices("10de")])
    agent.build(instance, spec)
    agent.build(*a_build())
    assert report(agent)["placed_instances"] == [instance.uuid]
    assert sorted(len(cell.pinned) for cell in reported_cells(agent)) == [0, 4]
    assert sum(free_counts(agent).values()) == 3


def test_what_will_not_fit_is_not_counted(agent: Agent) -> None:
    """It will be refused when it is its turn, and takes nothing from the others."""
    agent.build(*a_build(numa_topology=pinned(5)))
    assert all(not cell.pinned for cell in reported_cells(agent))


def test_the_scheduler_s_limits_hold(agent: Agent) -> None:
    """Ratios that it decided by, not those that the host has by now."""
    agent.ratios.note(HOST, {"VCPU": 16.0})
    limits = SchedulerLimits.from_values(numa_topology={"cpu_allocation_ratio": 1.0})
    for _ in range(2):
        claim_topology(agent, shared(4), limits=limits)
    with pytest.raises(unavailable, match="4 shared CPUs with 4 vCPUs"):
        claim_topology(agent, shared(1), limits=limits)


def test_without_limits_the_host_s_ratios_hold(agent: Agent) -> None:
    """As placement has them."""
    agent.ratios.note(HOST, {"VCPU": 1.0})
    for _ in range(2):
        claim_topology(agent, shared(4))
    with pytest.raises(unavailable, match="4 shared CPUs with 4 vCPUs"):
        claim_topology(agent, shared(1))


def test_a_host_without_cells_refuses_a_topology(tmp_path: Path) -> None:
    """A scheduler that lacks the filter may send one."""
    agent = start(tmp_path, "vcpus=8:memory_mb=8192:disk_gb=500")
    with pytest.raises(unavailable, match="requests NUMA cells, but the host has none"):
        claim_topology(agent, pinned(1))
    assert report(agent)["numa_topology"] is None
    agent.close()


def test_a_topology_that_is_none_fails_the_build(agent: Agent) -> None:
    """From a newer or a broken conductor; the agent does not fall over it."""
    instance, spec = a_build(numa_topology={"cells": "many"})
    agent.conductor.expect(instance)
    agent.build(instance, spec)
    agent.settle()
    assert [fault.instance_uuid for fault in agent.conductor.faults] == [instance.uuid]
    assert "ComputeResourcesUnavailable" in str(agent.conductor.faults[0].details)


# Devices ------------------------------------------------------------------------------------------


def test_devices_are_given_to_one_alone(agent: Agent) -> None:
    """The reason says what was asked, and how many are free."""
    command = a_build(pci_requests=[devices("10de")])
    (first,) = claim(agent, command).pci_devices
    (second,) = claim(agent, a_build(pci_requests=[devices("10de")])).pci_devices
    assert first.address != second.address
    assert {pool["vendor_id"] for pool in report(agent)["pci_stats"]} == {"8086"}
    reserved = [(pool["vendor_id"], pool["count"]) for pool in report(agent)["pci_reserved"]]
    assert reserved == [("10de", 1), ("10de", 1)]
    with pytest.raises(unavailable, match="PCI devices requested: 1 card; no match in the 2"):
        claim(agent, a_build(pci_requests=[devices("10de")]))


def test_pools_name_no_device(agent: Agent) -> None:
    """Schedulers count; which device it is, is the agent's business."""
    pools = report(agent)["pci_stats"]
    assert [pool["count"] for pool in pools] == [1, 1, 1, 1]
    assert all("address" not in pool for pool in pools)


def test_devices_are_near_the_cpus(agent: Agent) -> None:
    """First of the emptier cell, though the other's comes first, then of the one that is left."""
    claim(agent, a_build(numa_topology=pinned(1)))
    for _ in range(2):
        place = claim(
            agent,
            a_build(numa_topology=pinned(1), pci_requests=[devices("8086", policy="required")]),
        )
        assert place.numa_topology is not None
        assert {device.numa_node for device in place.pci_devices} == place.numa_topology.host_cells


def test_devices_come_in_the_order_they_were_asked_for(agent: Agent) -> None:
    """So the workload knows which is which."""
    command = a_build(pci_requests=[devices("8086"), devices("10de", 2)])
    place = claim(agent, command)
    assert [device.vendor_id for device in place.pci_devices] == ["8086", "10de", "10de"]


def test_a_card_and_its_functions_are_one_thing() -> None:
    """An instance with one of these keeps the other from all."""
    card = PciDevice("0000:01:00.0", "8086", "10fb", "type-PF")
    functions = [
        PciDevice(f"0000:01:00.{n}", "8086", "10ed", "type-VF", parent=card.address) for n in (1, 2)
    ]
    other = PciDevice("0000:02:00.0", "8086", "10fb", "type-PF")
    places = FreeTopology(None, (card, *functions, other))
    left = places.without(InstancePlacement(pci_devices=(functions[0],)))
    assert set(left.devices) == {functions[1], other}
    left = places.without(InstancePlacement(pci_devices=(card,)))
    assert set(left.devices) == {other}
    a_card = PciRequest("nic", 1, ({"dev_type": "type-PF"},))
    a_function = PciRequest("port", 2, ({"dev_type": "type-VF"},))
    found = places.find(PlacementWanted(pci_requests=(a_card, a_function)))
    assert found.pci_devices == (other, *functions)


def test_who_has_what_the_host_gives_away_no_more_is_named(tmp_path: Path, agent: Agent) -> None:
    """After an operator has changed what is dedicated, or which devices there are."""
    assert agent.journal is not None
    claim(agent, a_build())
    with_cpus = a_build(numa_topology=pinned(4))
    with_device = a_build(pci_requests=[devices("10de")])
    for command in (with_cpus, with_device):
        claim(agent, command)
    entries = agent.journal.list_entries(host=HOST)
    assert misplaced(agent.drivers[HOST], entries) == []
    changed = start(tmp_path / "changed", "vcpus=8:memory_mb=8192:disk_gb=500")
    assert set(misplaced(changed.drivers[HOST], entries)) == {
        with_cpus[0].uuid,
        with_device[0].uuid,
    }
    changed.close()


# What survives ------------------------------------------------------------------------------------


def test_a_claim_made_twice_keeps_its_place(agent: Agent) -> None:
    """Also when meanwhile a better one is free."""
    others = [a_build(numa_topology=pinned(2)) for _ in range(2)]
    for command in others:
        claim(agent, command)
    command = a_build(numa_topology=pinned(2), pci_requests=[devices("10de")])
    place = claim(agent, command)
    agent.work.delete(others[0][0].uuid, HOST)
    agent.queue.run()
    agent.restart()
    assert claim(agent, command) == place


def test_after_the_journal_is_lost_the_driver_says_where_guests_sit(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are taken over with their CPUs and devices."""
    command = a_build(numa_topology=pinned(4), pci_requests=[devices("10de")])
    agent.conductor.expect(command[0])
    agent.build(*command)
    agent.settle()
    before = (reported_cells(agent), free_counts(agent))
    place = agent.drivers[HOST].places[command[0].uuid]
    agent.close()
    for path in tmp_path.glob("journal.sqlite*"):
        path.unlink()
    agent.restart()
    guest = GuestInfo(command[0].uuid, "running", place=place)
    monkeypatch.setattr(agent.drivers[HOST], "list_guests", lambda: [guest])
    agent.reconciler.reconcile()
    assert (reported_cells(agent), free_counts(agent)) == before


def test_a_new_attempt_gets_a_new_place(agent: Agent) -> None:
    """The old attempt's is not held beside it."""
    instance, spec = a_build(numa_topology=pinned(4))
    claim(agent, (instance, spec))
    again = instance.with_values(attempt=2)
    claim(agent, (again, spec))
    assert sorted(len(cell.pinned) for cell in reported_cells(agent)) == [0, 4]


def test_an_agent_killed_at_any_moment_gives_nothing_away_twice(tmp_path: Path) -> None:
    """Before and after writes and messages: the guest is where the journal says."""
    for count, moment in enumerate(moments()):
        agent = start(tmp_path / str(count))
        commands = [
            a_build(numa_topology=pinned(4), pci_requests=[devices("10de")]) for _ in range(2)
        ]
        is_killed = run_until_killed(agent, commands, moment)
        places = [agent.drivers[HOST].places.get(command[0].uuid) for command in commands]
        found = [place for place in places if place is not None]
        cpus = [cpu for place in found for cpu in cpus_of(place)]
        addresses = [device.address for place in found for device in place.pci_devices]
        assert len(cpus) == len(set(cpus)) == 4 * len(found), moment
        assert len(addresses) == len(set(addresses)) == len(found), moment
        assert sum(len(cell.pinned) for cell in reported_cells(agent)) == 8, moment
        agent.close()
        if not is_killed:
            assert moment > 2, "the story has effects"
            return


def cpus_of(place: InstancePlacement) -> frozenset[int]:
    assert place.numa_topology is not None
    return place.numa_topology.cells[0].cpus_taken


def run_until_killed(agent: Agent, commands: list[Command], moment: float) -> bool:
    """Build both; when the agent is killed in between, restart it and go on."""
    for command in commands:
        agent.conductor.expect(command[0])
    agent.breaker.kill_at(moment)
    spawned: dict[str, InstancePlacement] = {}
    try:
        for command in commands:
            agent.build(*command)
            agent.settle()
    except Killed:
        spawned = agent.drivers[HOST].places
        agent.breaker.mend()
        agent.restart()
        for command in commands:
            agent.build(*command)
        agent.settle()
        for uuid, place in agent.drivers[HOST].places.items():
            assert spawned.get(uuid, place) == place, "a guest that runs is not moved"
        agent.drivers[HOST].places = {**spawned, **agent.drivers[HOST].places}
        return True
    return False


def test_devices_are_those_of_the_cards_that_placement_chose(tmp_path: Path) -> None:
    """And the journal says so: what was claimed is not reserved once more."""
    agent = Agent(tmp_path, declared="vcpus=8:memory_mb=8192:disk_gb=50:pci=8086/10ed@3")
    host = HOSTS[0]
    wanted = agent.drivers[host].get_pci_devices()[2]
    card = device_uuid(builders.a_uuid_of(host), wanted)
    device = {"vendor_id": "8086", "product_id": "10ed"}
    request = PciRequest("nic", 1, [device], request_id="r")
    allocations = {card: {"resources": {"CUSTOM_PCI_8086_10ED": 1}}}
    (claimed,) = with_providers([request], allocations)
    instance, spec = a_build(host, pci_requests=[claimed.to_plain()])
    agent.conductor.expect(instance)
    agent.build(instance, spec)
    agent.settle()
    assert agent.journal is not None
    (entry,) = agent.journal.list_entries(host=host)
    assert entry.place is not None
    assert [(one.address, one.rp_uuid) for one in entry.place.pci_devices] == [
        (wanted.address, card)
    ]
    plain, plain_spec = a_build(host, pci_requests=[request.to_plain()])
    agent.conductor.expect(plain)
    agent.build(plain, plain_spec)
    agent.settle()
    places = [one.place for one in agent.journal.list_entries(host=host) if one.place is not None]
    assert len(unclaimed_in(places)) == 1
    agent.close()
