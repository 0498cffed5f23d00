"""The audit that a super conductor does by itself: what it counts, heals, and leaves alone."""

import logging
import time
from typing import Any

import pytest

import conductor.super_conductor.repair.periodic_audit
from armillary.metrics import service_metrics
from conductor.super_conductor.db.catalogue import quotas
from conductor.super_conductor.repair import lost_servers
from conductor.super_conductor.repair.lost_servers import LostServers
from conductor.super_conductor.repair.orphaned_allocations import Orphans
from conductor.super_conductor.repair.periodic_audit import (
    MIN_AGE,
    MissingAllocations,
    PeriodicAudit,
)
from conductor.super_conductor.servers.cell_server_pages import CellServers
from objects.allocations.fence import Fence
from tests import builders
from tests.fixtures.control_plane import an_admin
from tests.fixtures.placement import placement_template, placement_url
from tests.fixtures.placement.placement_repair import AWAY, HELD, Cloud, cloud

__all__ = ["cloud", "placement_template", "placement_url"]


@pytest.fixture
def watch(cloud: Cloud) -> PeriodicAudit:
    """Return what looks, long after all that a test wrote to placement."""
    peers = cloud.plane.peers
    orphans = Orphans(cloud.plane.database, peers.cells, peers.cell0, peers.placement)
    later = MIN_AGE.total_seconds() + 60
    lacking = MissingAllocations(
        database=cloud.plane.database,
        cells=peers.cells,
        servers=CellServers(cloud.plane.database, peers.cells),
        scheduler=peers.scheduler,
        placement=peers.placement,
    )
    servers = CellServers(cloud.plane.database, peers.cells)
    return PeriodicAudit(
        peers.placement, orphans, lacking,
        lambda: time.time() + later,
        pages=lambda: servers.pages(an_admin(), limit=2),
        recheck=cloud.plane.resize_usage.recheck,
        delete_lost=LostServers(
            cloud.plane.database, orphans, cloud.plane.deletes.delete,
            lambda: builders.A_TIME.timestamp() + later, min_age=MIN_AGE,
        ).delete_all,
    )  # fmt: skip


def shown(verdict: str) -> float:
    """Return what the metric says."""
    return float(service_metrics.AUDITED_CONSUMERS.here.labels(verdict)._value.get())


def lacking() -> dict[str, int]:
    """Return what the metric says about servers, except for zeros."""
    verdicts = ("healed", "refused", "misplaced", "without_node")
    shown = {
        one: int(service_metrics.AUDITED_SERVERS.here.labels(one)._value.get()) for one in verdicts
    }
    return {verdict: count for verdict, count in shown.items() if count}


def test_what_has_no_owner_is_counted_and_stays(
    cloud: Cloud, watch: PeriodicAudit, caplog: pytest.LogCaptureFixture
) -> None:
    """Servers and moves; each is said once."""
    server = cloud.add_server()
    orphan, move = builders.a_uuid(), builders.a_uuid()
    cloud.hold(server.uuid)
    cloud.hold(orphan)
    cloud.hold(move, consumer_type="MIGRATION")
    caplog.set_level(logging.WARNING)
    watch.run()
    watch.run()
    assert (shown("orphaned"), shown("foreign"), shown("unsure")) == (2, 0, 0)
    assert set(cloud.held()) == {server.uuid, orphan, move}
    assert [caplog.text.count(uuid) for uuid in (server.uuid, orphan, move)] == [0, 1, 1]


def test_what_was_released_meanwhile_counts_no_more(cloud: Cloud, watch: PeriodicAudit) -> None:
    """The metric is of the last check."""
    orphan = builders.a_uuid()
    cloud.hold(orphan)
    watch.run()
    assert shown("orphaned") == 1
    cloud.engine.claims.release({orphan: 7})
    watch.run()
    assert shown("orphaned") == 0


def test_without_placement_it_waits_for_its_next_turn(cloud: Cloud, watch: PeriodicAudit) -> None:
    """The periodic task goes on."""
    cloud.bus.fail("list_allocations", AWAY)
    assert watch.look_at_consumers() is None
    found = watch.look_at_consumers()
    assert found is not None
    assert found.looked_at == 0


def test_a_server_that_lacks_its_allocation_is_healed_and_counted(
    cloud: Cloud, watch: PeriodicAudit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing, or too little, in any cell and on any page; the metric is of the last check."""
    monkeypatch.setattr(conductor.super_conductor.repair.periodic_audit, "PAGE_SIZE", 2)
    far = cloud.plane.add_cell("cell2")
    cloud.plane.map_hosts()
    node = far.nodes[0]
    cloud.add_provider(node.uuid, node.host)
    bare = [cloud.add_server(), cloud.add_server(), cloud.add_server(far)]
    half, whole = cloud.add_server(), cloud.add_server()
    cloud.hold(half.uuid, resources={"VCPU": 1})
    cloud.hold(whole.uuid)
    watch.run()
    assert lacking() == {"healed": 4}
    here, there = ({uuid: {"resources": HELD}} for uuid in (cloud.nodes[0], node.uuid))
    servers = [*bare[:2], half, whole]
    assert cloud.held() == {**{one.uuid: here for one in servers}, bare[2].uuid: there}
    watch.run()
    assert lacking() == {}


def test_what_is_held_of_another_host_is_named_and_stays(
    cloud: Cloud, watch: PeriodicAudit, caplog: pytest.LogCaptureFixture
) -> None:
    """It may or may not be a leftover; logged once, counted each time."""
    server = cloud.add_server()
    allocations = cloud.hold(server.uuid, cloud.nodes[1])
    for _ in range(2):
        watch.run()
        assert lacking() == {"misplaced": 1}
    assert cloud.held() == {server.uuid: allocations}
    assert caplog.text.count("holds resources on host cell1-host2") == 1


def test_what_a_full_host_refuses_is_counted(cloud: Cloud, watch: PeriodicAudit) -> None:
    """Nothing is taken from the others."""
    server = cloud.add_server()
    cloud.hold(other := builders.a_uuid(), resources={"VCPU": 8})
    watch.run()
    assert lacking() == {"refused": 1}
    assert set(cloud.held()) == {other}
    assert server.uuid not in cloud.held()


@pytest.mark.parametrize(
    "state",
    [
        {"vm_state": "building", "task_state": "spawning"},
        {"task_state": "resize_migrating"},
        {"vm_state": "shelved_offloaded", "host": None, "node": None},
    ],
    ids=["building", "moving", "offloaded"],
)
def test_servers_in_transition_are_not_findings(
    cloud: Cloud, watch: PeriodicAudit, state: dict[str, Any]
) -> None:
    """The conductor that works on them sees to their allocations."""
    cloud.add_server(**state)
    watch.run()
    assert (lacking(), cloud.held()) == ({}, {})


def test_a_server_whose_allocations_are_split_by_a_move_lacks_nothing(
    cloud: Cloud, watch: PeriodicAudit
) -> None:
    """Resized: it holds the destination's, its migration the source's."""
    server = cloud.add_server(vm_state="resized")
    cloud.hold(server.uuid)
    cloud.hold(builders.a_uuid(), cloud.nodes[1], consumer_type="MIGRATION")
    watch.run()
    assert lacking() == {}


def test_a_move_that_begins_during_the_look_is_not_a_finding(
    cloud: Cloud, watch: PeriodicAudit
) -> None:
    """Its writes are above that of a healing, which comes late."""
    server = cloud.add_server()
    fence = int(Fence.of_operation(server.operations_total + 1))
    cloud.bus.meanwhile(
        "get_allocations", lambda: cloud.engine.claims.release({server.uuid: fence})
    )
    watch.run()
    assert (lacking(), cloud.held()) == ({}, {})


def test_a_driver_without_claims_leaves_nothing_to_find(cloud: Cloud, watch: PeriodicAudit) -> None:
    """Servers need not hold anything then."""
    cloud.add_server()
    cloud.plane.scheduler.uses_allocation_candidates = False
    watch.run()
    assert (lacking(), cloud.held()) == ({}, {})


def test_a_cell_or_scheduler_that_is_silent_makes_no_finding(
    cloud: Cloud, watch: PeriodicAudit
) -> None:
    """The next check goes on."""
    cloud.add_server()
    cloud.bus.fail("get_expected_allocations", AWAY)
    assert watch.look_at_servers() is None
    cloud.lose()
    watch.run()
    assert (lacking(), cloud.held()) == ({}, {})


def counted(cloud: Cloud) -> int:
    """Return how many servers count against the quota of their project."""
    with cloud.plane.database.reader() as session:
        return int(quotas.count_usage(session, "p1")["instances"])


def test_what_counts_and_is_in_no_cell_is_deleted(cloud: Cloud, watch: PeriodicAudit) -> None:
    """A server that is mapped to a cell, or to none, and that no cell knows."""
    cloud.add_server()
    cloud.map_server(builders.a_uuid(), cloud.cell.uuid)
    cloud.map_server(builders.a_uuid(), None)
    assert counted(cloud) == 3
    assert watch.look_at_usage() == 2
    assert counted(cloud) == 1


def test_nothing_of_a_cell_that_does_not_answer_is_deleted(
    cloud: Cloud, watch: PeriodicAudit
) -> None:
    """Its servers may be there."""
    cloud.map_server(builders.a_uuid(), cloud.cell.uuid)
    cloud.plane.bus_of(cloud.cell).fail("find_instance_hosts", AWAY)
    assert watch.look_at_usage() == 0
    assert counted(cloud) == 1


def test_a_cell_that_has_lost_many_servers_loses_no_mapping(
    cloud: Cloud, watch: PeriodicAudit, caplog: pytest.LogCaptureFixture
) -> None:
    """Its database may have been restored from an older copy; an operator decides."""
    for _ in range(lost_servers.LOST_MAX + 1):
        cloud.map_server(builders.a_uuid(), cloud.cell.uuid)
    assert watch.look_at_usage() == 0
    assert counted(cloud) == lost_servers.LOST_MAX + 1
    assert "11 of 11 servers" in caplog.text
