"""Tests of finding new hosts, and instances that no mapping names."""

import oslo_messaging
import pytest

from armillary import exception
from conductor.super_conductor.db import cells as cells_db
from conductor.super_conductor.db import host_mappings, request_specs
from conductor.super_conductor.db.catalogue import quotas
from conductor.super_conductor.hosts.discovery import (
    Discovered,
    ForeignHosts,
    discover_hosts,
    map_instances,
)
from objects.hosts.service import Service
from tests import builders
from tests.fixtures.control_plane import NOW, ControlPlane, a_user
from tests.fixtures.super_conductor.fake_cell_conductor import CellConductor

TIMEOUT = oslo_messaging.MessagingTimeout("no answer")


def discover(plane: ControlPlane, cell_uuid: str | None = None) -> Discovered:
    assert plane.links is not None
    return discover_hosts(plane.database, plane.links, ForeignHosts(), cell_uuid=cell_uuid)


def the_cell(plane: ControlPlane) -> CellConductor:
    (cell,) = plane.cells.values()
    return cell


def test_new_hosts_are_mapped_once(plane: ControlPlane) -> None:
    """The second look finds nothing new."""
    found = discover(plane)
    assert found.new_hosts == {"cell1": ["cell1-host1", "cell1-host2"]}
    assert discover(plane) == Discovered({}, [], [])
    nodes = plane.database.read(host_mappings.list_node_uuids, the_cell(plane).uuid)
    assert nodes["cell1-host1"] == [the_cell(plane).nodes[0].uuid]


def test_a_host_is_known_before_its_first_node(plane: ControlPlane) -> None:
    """Its service reports first; the node is a change then."""
    cell = the_cell(plane)
    node = cell.add_host("late")
    cell.nodes.remove(node)
    assert "late" in discover(plane).new_hosts["cell1"]
    cell.nodes.append(node)
    assert discover(plane) == Discovered({}, ["late"], [])


def test_services_that_are_not_hosts_are_left_out(plane: ControlPlane) -> None:
    """A conductor runs no instances."""
    add_conductor(the_cell(plane))
    assert "c" not in discover(plane).new_hosts["cell1"]


def add_conductor(cell: CellConductor) -> None:
    cell.services.append(
        Service.from_values(uuid=builders.a_uuid(), host="c", binary="armillary-conductor")
    )


def test_a_disabled_cell_is_not_asked(plane: ControlPlane) -> None:
    """Unless it is named."""
    with plane.database.writer() as session:
        cells_db.update_cell(session, "cell1", {"disabled": True}, now=NOW)
    assert discover(plane).new_hosts == {}
    assert discover(plane, the_cell(plane).uuid).new_hosts != {}


def test_a_silent_cell_is_named_and_the_others_are_discovered(plane: ControlPlane) -> None:
    """The next check may find more."""
    plane.add_cell("cell2")
    plane.bus_of(the_cell_named(plane, "cell1")).fail("list_known_hosts", TIMEOUT)
    found = discover(plane)
    assert (list(found.new_hosts), found.down_cells) == (["cell2"], ["cell1"])


def the_cell_named(plane: ControlPlane, name: str) -> CellConductor:
    with plane.database.reader() as session:
        return plane.cells[cells_db.get_cell(session, name).uuid]


def test_a_host_of_two_cells_stays_where_it_is(
    plane: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    """An operator gave two hosts one name; the log says so."""
    discover(plane)
    plane.add_cell("cell2", hosts=0).add_host("cell1-host1")
    assert discover(plane) == Discovered({}, [], [])
    assert "cell1-host1" in caplog.text


def test_a_host_of_two_cells_is_logged_once(
    plane: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in every round, but again when it comes back; an unreachable cell changes nothing."""
    assert plane.links is not None
    links, foreign = plane.links, ForeignHosts()
    discover(plane)
    other = plane.add_cell("cell2", hosts=0)
    node, service = other.add_host("cell1-host1"), other.services[-1]

    def warnings_of_a_round() -> int:
        caplog.clear()
        discover_hosts(plane.database, links, foreign)
        return caplog.text.count("Host cell1-host1 of cell")

    assert [warnings_of_a_round() for _ in range(3)] == [1, 0, 0]
    plane.bus_of(other).fail("list_known_hosts", TIMEOUT)
    assert [warnings_of_a_round() for _ in range(2)] == [0, 0]
    other.nodes.remove(node)
    other.services.remove(service)
    assert warnings_of_a_round() == 0
    other.nodes.append(node)
    other.services.append(service)
    assert warnings_of_a_round() == 1


def test_an_unknown_cell_is_not_found(plane: ControlPlane) -> None:
    """There is no cell to ask."""
    with pytest.raises(exception.CellNotFound):
        discover(plane, builders.a_uuid())


# Instances


def test_stray_instances_of_a_cell_are_mapped(plane: ControlPlane) -> None:
    """They are shown, and count, from then on; those that are mapped stay as they are."""
    plane.build()
    cell = the_cell(plane)
    strays = [builders.an_instance(f"stray{n}") for n in range(3)]
    cell.instances.update({one.uuid: one for one in strays})
    assert plane.links is not None
    assert map_instances(plane.database, plane.links, cell.uuid) == 3
    assert map_instances(plane.database, plane.links, cell.uuid) == 0
    assert plane.servers.get_server(a_user(), strays[0].uuid).name == "stray0"
    with plane.database.reader() as session:
        assert quotas.count_usage(session, "p1")["instances"] == 4
        assert request_specs.get_spec(session, strays[0].uuid).flavor.vcpus == 1


def test_a_cell_that_does_not_answer_cannot_be_mapped(plane: ControlPlane) -> None:
    """The caller is told."""
    plane.bus_of(the_cell(plane)).fail("list_instances", TIMEOUT)
    assert plane.links is not None
    with pytest.raises(exception.CellUnavailable):
        map_instances(plane.database, plane.links, the_cell(plane).uuid)


def test_an_instance_on_its_way_is_not_a_stray(plane: ControlPlane) -> None:
    """Its mapping is there from its acceptance on."""
    assert plane.links is not None
    links, counts = plane.links, list[int]()
    plane.create()
    cell = the_cell(plane)
    cell.before_answer = lambda: counts.append(map_instances(plane.database, links, cell.uuid))
    plane.workers.work()
    assert counts == [0]
