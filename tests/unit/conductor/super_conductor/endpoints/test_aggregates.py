"""Tests of what the API asks about aggregates, over messages; each change is told to placement."""

import pytest

from armillary import exception
from conductor.super_conductor.db import cells
from conductor.super_conductor.endpoints.aggregates import AggregatesEndpoint
from conductor.super_conductor.hosts.cluster_metadata import MetadataPublisher
from conductor.super_conductor.hosts.zone_guard import ZoneGuard
from objects.aggregate import AggregateChanges
from tests.fixtures.control_plane import NOW, ControlPlane, RunningConductor, an_admin
from tests.fixtures.stand_ins.told import Told


def test_an_aggregate_comes_changes_and_goes(running: RunningConductor) -> None:
    """Its hosts' nodes are its members in placement, at each moment."""
    api, admin, placement = running.api, an_admin(), running.placement
    running.run_task("discover-hosts")
    made = api.create_aggregate(admin, "rack", None)
    assert placement.aggregates == {made.uuid: []}
    api.add_aggregate_host(admin, str(made.id), "host1")
    assert placement.aggregates == {made.uuid: [running.cell.nodes[0].uuid]}
    changed = api.update_aggregate(
        admin, made.uuid, AggregateChanges(metadata={"availability_zone": "east"})
    )
    assert changed.availability_zone == "east"
    assert [zone.name for zone in api.list_availability_zones(admin)] == ["east", "nova"]
    assert api.get_aggregate(admin, made.uuid).hosts == ["host1"]
    api.remove_aggregate_host(admin, made.uuid, "host1")
    assert placement.aggregates == {made.uuid: []}
    assert [one.uuid for one in api.list_aggregates(admin)] == [made.uuid]
    api.delete_aggregate(admin, made.uuid)
    with pytest.raises(exception.AggregateNotFound):
        api.get_aggregate(admin, made.uuid)


def test_each_change_is_told_when_it_begins_and_when_it_is_stored(plane: ControlPlane) -> None:
    """As the aggregate is then; what is not there, or does not come about, has no end."""
    told, peers = Told(), plane.peers
    facts = MetadataPublisher(plane.database, peers.scheduler, peers.placement)
    guard = ZoneGuard(plane.conf, plane.database, peers.cells, plane.clock)
    endpoint = AggregatesEndpoint(plane.database, facts, guard, plane.clock, told.notifier)
    admin = an_admin()
    plane.map_hosts()
    made = endpoint.create_aggregate(admin, "rack", None)
    endpoint.add_aggregate_host(admin, made.uuid, "cell1-host1")
    endpoint.update_aggregate(admin, made.uuid, AggregateChanges(metadata={"ssd": "true"}))
    endpoint.update_aggregate(admin, made.uuid, AggregateChanges("row"))
    endpoint.remove_aggregate_host(admin, made.uuid, "cell1-host1")
    endpoint.delete_aggregate(admin, made.uuid)
    changes = ["create", "add_host", "update_metadata", "update_prop", "remove_host", "delete"]
    assert [one.event_type for one in told.told] == [
        f"aggregate.{change}.{phase}" for change in changes for phase in ("start", "end")
    ]
    assert [one.facts["hosts"] for one in told.told[2:4]] == [[], ["cell1-host1"]]
    assert {one.facts["uuid"] for one in told.told} == {made.uuid}
    assert all(one.versioned() for one in told.told)
    told.told.clear()
    with pytest.raises(exception.AggregateNotFound):
        endpoint.delete_aggregate(admin, made.uuid)
    assert told.told == []


def test_a_value_that_is_not_a_number_is_stored_and_warned_of(
    plane: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    """Its hosts keep the configured value; other keys may have any value."""
    facts = MetadataPublisher(plane.database, plane.peers.scheduler, plane.peers.placement)
    guard = ZoneGuard(plane.conf, plane.database, plane.peers.cells, plane.clock)
    endpoint = AggregatesEndpoint(plane.database, facts, guard, plane.clock)
    made = endpoint.create_aggregate(an_admin(), "rack", None)
    given: dict[str, str | None] = {
        "ram_weight_multiplier": "much",
        "max_io_ops_per_host": "4",
        "rack": "r7",
    }
    changed = endpoint.update_aggregate(an_admin(), made.uuid, AggregateChanges(metadata=given))
    assert changed.metadata == given
    assert [each for each in caplog.messages if "not a number" in each] == [
        "Aggregate rack: metadata ram_weight_multiplier is 'much', which is not a number; its "
        "hosts have the configured value instead"
    ]


def test_a_change_is_told_under_its_own_number_though_others_follow(plane: ControlPlane) -> None:
    """A scheduler that took it for the latest would never learn of the one in between."""
    facts = MetadataPublisher(plane.database, plane.peers.scheduler, plane.peers.placement)
    guard = ZoneGuard(plane.conf, plane.database, plane.peers.cells, plane.clock)
    endpoint = AggregatesEndpoint(plane.database, facts, guard, plane.clock)
    first = facts.get_cluster_metadata(an_admin())["seq"]

    def another() -> None:
        with plane.database.writer() as session:
            cells.update_cell(session, "cell1", {"disabled": True}, now=NOW)

    plane.bus.meanwhile("set_aggregate_members", another)
    made = endpoint.create_aggregate(an_admin(), "rack", None)
    assert plane.scheduler.news == [(first + 1, [made.uuid], [])]
    facts.push_to_schedulers_if_changed()
    (pushed,) = plane.scheduler.cluster_metadata
    assert (pushed["seq"], pushed["cells"][0]["disabled"]) == (first + 2, True)
