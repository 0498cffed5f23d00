"""Tests of telling schedulers and placement what changed."""

import oslo_messaging
import pytest

from conductor.super_conductor.db import cells
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.hosts import discovery
from conductor.super_conductor.hosts.cluster_metadata import MetadataPublisher
from objects.aggregate import Aggregate
from tests.fixtures.control_plane import NOW, ControlPlane, an_admin

AWAY = oslo_messaging.MessagingTimeout("away")


@pytest.fixture
def publisher(plane: ControlPlane) -> MetadataPublisher:
    return MetadataPublisher(plane.database, plane.peers.scheduler, plane.peers.placement)


def an_aggregate(plane: ControlPlane, *hosts: str) -> Aggregate:
    with plane.database.writer() as session:
        made = aggregates.create_aggregate(session, "rack", "east", now=NOW)
        for host in hosts:
            made = aggregates.add_host(session, made.uuid, host, now=NOW)
    return made


def test_metadata_is_cells_and_aggregates_with_a_number(
    plane: ControlPlane, publisher: MetadataPublisher
) -> None:
    """What a scheduler asks for when it starts."""
    plane.map_hosts()
    made = an_aggregate(plane, "cell1-host1")
    found = publisher.get_cluster_metadata(an_admin())
    (cell_uuid,) = plane.cells
    assert found["cells"] == [{"uuid": cell_uuid, "name": "cell1", "disabled": False}]
    assert [(one.uuid, one.hosts) for one in found["aggregates"]] == [(made.uuid, made.hosts)]


def test_the_number_grows_with_every_change(
    plane: ControlPlane, publisher: MetadataPublisher
) -> None:
    """Of cells and of aggregates."""
    seen = [publisher.get_cluster_metadata(an_admin())["seq"]]
    an_aggregate(plane)
    seen.append(publisher.get_cluster_metadata(an_admin())["seq"])
    with plane.database.writer() as session:
        cells.update_cell(session, "cell1", {"disabled": True}, now=NOW)
    seen.append(publisher.get_cluster_metadata(an_admin())["seq"])
    assert seen == sorted(set(seen))


def test_a_changed_aggregate_is_told_to_both(
    plane: ControlPlane, publisher: MetadataPublisher
) -> None:
    """Placement gets the providers of its hosts, which are their nodes."""
    plane.map_hosts()
    made = an_aggregate(plane, "cell1-host1")
    publisher.aggregates_changed([made])
    (cell,) = plane.cells.values()
    assert plane.placement.aggregates == {made.uuid: [cell.nodes[0].uuid]}
    assert plane.scheduler.cluster_metadata[-1]["aggregates"][0].hosts == ["cell1-host1"]


def test_schedulers_are_told_when_another_process_changed_something(
    plane: ControlPlane, publisher: MetadataPublisher
) -> None:
    """Such as armillary-manage, which has no broker; and not without a change."""
    publisher.push_to_schedulers_if_changed()
    publisher.push_to_schedulers_if_changed()
    assert len(plane.scheduler.cluster_metadata) == 1
    with plane.database.writer() as session:
        cells.update_cell(session, "cell1", {"disabled": True}, now=NOW)
    publisher.push_to_schedulers_if_changed()
    assert plane.scheduler.cluster_metadata[-1]["cells"][0]["disabled"]


def test_a_failure_to_tell_placement_is_repaired(
    plane: ControlPlane, publisher: MetadataPublisher
) -> None:
    """The change stands, and is told again."""
    plane.map_hosts()
    made = an_aggregate(plane, "cell1-host1")
    plane.bus.fail("set_aggregate_members", AWAY)
    publisher.aggregates_changed([made])
    assert plane.placement.aggregates == {}
    publisher.repair()
    assert len(plane.placement.aggregates[made.uuid]) == 1


def test_a_new_node_of_a_host_joins_its_aggregates(
    plane: ControlPlane, publisher: MetadataPublisher
) -> None:
    """In placement, where nodes are members."""
    plane.map_hosts()
    made = an_aggregate(plane, "cell1-host1")
    (cell,) = plane.cells.values()
    cell.nodes[0] = cell.nodes[0].with_values(uuid="c0ffee00-0000-4000-8000-000000000009")
    assert plane.links is not None
    changed = discovery.discover_hosts(
        plane.database, plane.links, discovery.ForeignHosts()
    ).changed_hosts
    publisher.aggregates_of_hosts_changed(changed)
    assert plane.placement.aggregates == {made.uuid: [cell.nodes[0].uuid]}


def test_hosts_of_no_aggregate_change_nothing(
    plane: ControlPlane, publisher: MetadataPublisher
) -> None:
    """There is nothing to tell."""
    plane.map_hosts()
    an_aggregate(plane, "cell1-host1")
    publisher.aggregates_of_hosts_changed(["cell1-host2"])
    assert plane.placement.aggregates == {}


def test_one_changed_aggregate_is_told_alone(
    plane: ControlPlane, publisher: MetadataPublisher
) -> None:
    """With the number that it makes; its end, too."""
    made = an_aggregate(plane)
    seq = publisher.get_cluster_metadata(an_admin())["seq"]
    publisher.aggregate_changed(made, seq - 1)
    publisher.aggregate_changed(made, seq, is_gone=True)
    assert plane.scheduler.news == [(seq - 1, [made.uuid], []), (seq, [], [made.uuid])]
    assert plane.scheduler.cluster_metadata == []
    publisher.push_to_schedulers_if_changed()
    assert plane.scheduler.cluster_metadata == []


def test_members_that_another_request_changes_meanwhile_are_told_last(
    plane: ControlPlane, publisher: MetadataPublisher
) -> None:
    """Its message arrives first; the older list of members must not stay."""
    plane.map_hosts()
    made = an_aggregate(plane, "cell1-host1")

    def add_another() -> None:
        with plane.database.writer() as session:
            now = aggregates.add_host(session, made.uuid, "cell1-host2", now=NOW)
        publisher.aggregates_changed([now])

    plane.bus.meanwhile("set_aggregate_members", add_another)
    publisher.aggregate_changed(made, 1)
    (cell,) = plane.cells.values()
    assert plane.placement.aggregates == {made.uuid: sorted(node.uuid for node in cell.nodes)}
