"""One host, and the activity of all: each asked of few, in few rows."""

import oslo_messaging
import pytest

from armillary import exception
from armillary.service_history import SCHEDULER
from conductor.super_conductor.hosts.host_details import HostDetailsEndpoint
from conductor.super_conductor.zones.overview import Overview
from objects.hosts.host_event import HostEvent
from tests.fixtures.control_plane import NOW, ControlPlane, an_admin

TIMEOUT = oslo_messaging.MessagingTimeout("no answer")


@pytest.fixture
def endpoint(plane: ControlPlane) -> HostDetailsEndpoint:
    plane.map_hosts()
    peers = plane.peers
    overview = Overview(plane.conf, plane.database, peers.scheduler)
    return HostDetailsEndpoint(
        plane.conf, plane.database, plane.cell0_database, peers.cells, peers.placement,
        plane.migrations, overview, plane.clock,
    )  # fmt: skip


def test_a_host_is_asked_of_its_cell_alone(
    plane: ControlPlane, endpoint: HostDetailsEndpoint
) -> None:
    """With the servers that are mapped there, and the tree of its node."""
    (uuid,) = plane.build(1)
    host = plane.scheduler.hosts[0].service_host
    found = endpoint.get_host(an_admin(), host)
    assert (found.records.service.host, found.cell) == (host, "cell1")
    assert found.records.service.availability_zone == "nova"
    assert [one.uuid for one in found.providers] == [node.uuid for node in found.records.nodes]
    assert [server.uuid for server in found.servers] == [uuid]


def test_an_unknown_host_is_not_found(endpoint: HostDetailsEndpoint) -> None:
    """No cell is asked."""
    with pytest.raises(exception.HostNotFound):
        endpoint.get_host(an_admin(), "nowhere")


def test_events_are_asked_of_the_host_s_cell(
    plane: ControlPlane, endpoint: HostDetailsEndpoint
) -> None:
    """In pages, each with the place where the next one begins."""
    host = plane.scheduler.hosts[0].service_host
    (cell,) = plane.cells.values()
    known = [HostEvent(name, NOW, name) for name in ("down", "up", "created")]
    cell.host_events[host] = known
    first = endpoint.get_host_events(an_admin(), host, 2)
    assert (first.events, first.next_marker) == (known[:2], "up")
    second = endpoint.get_host_events(an_admin(), host, 2, first.next_marker)
    assert (second.events, second.next_marker) == (known[2:], None)
    with pytest.raises(exception.HostNotFound):
        endpoint.get_host_events(an_admin(), "nowhere", 1)


def test_the_activity_is_of_all_cells_and_services(
    plane: ControlPlane, endpoint: HostDetailsEndpoint
) -> None:
    """A cell that does not answer is named; what it does is not known."""
    silent = plane.add_cell("cell2", hosts=1)
    plane.bus_of(silent).fail("get_activity", TIMEOUT)
    plane.records.record_heartbeat("top-1", SCHEDULER, 1, 0, {"decisions_total": 7})
    plane.create(2)
    found = endpoint.get_activity(an_admin())
    assert found.down_cells == ["cell2"]
    assert found.cells["cell1"].hosts.total == 2
    assert [one.binary for one in found.on_top.services] == [SCHEDULER]
    assert [one.figures for one in found.on_top.figures] == [{"decisions_total": 7.0}]
    assert [(one.table, one.count) for one in found.on_top.works] == [("reservations", 1)]
