"""The view of the fleet: joined by node, kept for a moment, asked for again when it may be old."""

import oslo_messaging
import pytest

from armillary import exception
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.hosts.fleet_view import KEPT_SECONDS, FleetView
from objects.hosts.fleet import DOWN, UP
from tests import builders
from tests.fixtures.control_plane import NOW, ControlPlane, an_admin

TIMEOUT = oslo_messaging.MessagingTimeout("no answer")


@pytest.fixture
def view(plane: ControlPlane) -> FleetView:
    """Return the view of three hosts."""
    plane.add_cell("west", hosts=1)
    plane.map_hosts()
    peers = plane.peers
    return FleetView(plane.conf, plane.database, peers.scheduler, peers.placement, plane.clock)


def test_what_scheduler_placement_and_metadata_say_is_joined(
    plane: ControlPlane, view: FleetView
) -> None:
    """By node; a host that placement does not know has no inventory."""
    first, second, third = plane.scheduler.hosts
    plane.scheduler.down.add(second.service_host)
    plane.placement.full.add(first.compute_node_uuid)
    with plane.database.writer() as session:
        made = aggregates.create_aggregate(session, "rack1", "east", now=NOW)
        aggregates.add_host(session, made.uuid, third.service_host, now=NOW)
    page = view.get_fleet(an_admin(), 10)
    assert page.hosts == [one.service_host for one in (first, second, third)]
    assert page.state.tolist() == [UP, DOWN, UP]
    assert [page.zones[number] for number in page.zone] == ["nova", "nova", "east"]
    assert [page.aggregate_sets[number] for number in page.aggregate_set] == [[], [], [0]]
    assert page.aggregates == [{"name": "rack1", "metadata": {"availability_zone": "east"}}]
    assert page.capacity.tolist() == [[8], [-1], [-1]]
    assert page.used.tolist() == [[8], [0], [0]]
    assert [page.trait_sets[number] for number in page.trait_set] == [[0], [], []]
    assert [page.cells[number] for number in page.cell] == ["cell1", "cell1", "west"]


def test_many_pages_cost_as_much_as_one(plane: ControlPlane, view: FleetView) -> None:
    """Until the answer is old; then placement sends only what was written since."""
    epochs = [view.get_fleet(an_admin(), 10).epoch for _ in range(5)]
    assert plane.scheduler.times_asked_for_hosts == 1
    plane.clock.advance(KEPT_SECONDS)
    epochs.append(view.get_fleet(an_admin(), 10).epoch)
    assert len(set(epochs)) == 1
    assert plane.placement.known_epochs == [None, 1]


def test_who_knows_the_answer_gets_no_rows(plane: ControlPlane, view: FleetView) -> None:
    """Until a host changes, or placement does."""
    known = view.get_fleet(an_admin(), 10).epoch
    assert view.get_fleet(an_admin(), 10, known_epoch=known).hosts == []
    plane.scheduler.down.add(plane.scheduler.hosts[0].service_host)
    plane.clock.advance(KEPT_SECONDS)
    changed = view.get_fleet(an_admin(), 10, known_epoch=known)
    assert len(changed.hosts) == 3
    plane.placement.full.add(plane.scheduler.hosts[0].compute_node_uuid)
    plane.placement.epoch += 1
    plane.clock.advance(KEPT_SECONDS)
    assert len(view.get_fleet(an_admin(), 10, known_epoch=changed.epoch).hosts) == 3


def test_hosts_come_and_go(plane: ControlPlane, view: FleetView) -> None:
    """The others keep what is theirs."""
    first, second, third = plane.scheduler.hosts
    plane.placement.full.add(third.compute_node_uuid)
    plane.scheduler.hosts.remove(second)
    for hosts in ([first, third], [first, second, third], [second, third]):
        plane.scheduler.hosts[:] = hosts
        plane.clock.advance(KEPT_SECONDS)
        page = view.get_fleet(an_admin(), 10)
        assert page.hosts == [one.service_host for one in hosts]
        assert page.used[-1].tolist() == [8]


def test_what_no_host_has_is_left_out(plane: ControlPlane, view: FleetView) -> None:
    """Pools are providers, too, with resource classes of their own."""
    plane.placement.full.add(builders.a_uuid())
    page = view.get_fleet(an_admin(), 10)
    assert (page.resource_classes, page.capacity.shape, page.used.shape) == ([], (3, 0), (3, 0))


def test_pages_are_cut_by_name(plane: ControlPlane, view: FleetView) -> None:
    """Each is known by itself."""
    first = view.get_fleet(an_admin(), 2)
    rest = view.get_fleet(an_admin(), 2, marker=first.next_marker)
    names = [one.service_host for one in plane.scheduler.hosts]
    assert [*first.hosts, *rest.hosts] == names
    assert rest.next_marker is None
    assert view.get_fleet(an_admin(), 2, first.next_marker, rest.epoch).hosts == []


@pytest.mark.parametrize("limit", [0, 20_001])
def test_a_page_is_bounded(view: FleetView, limit: int) -> None:
    """The super conductor does not trust its callers."""
    with pytest.raises(exception.Invalid):
        view.get_fleet(an_admin(), limit)


def test_an_answer_that_fails_is_asked_for_again(plane: ControlPlane, view: FleetView) -> None:
    """Nothing half-read is kept."""
    plane.bus.fail("get_fleet_usage", TIMEOUT)
    with pytest.raises(exception.RpcTimeout):
        view.get_fleet(an_admin(), 10)
    assert len(view.get_fleet(an_admin(), 10).hosts) == 3
