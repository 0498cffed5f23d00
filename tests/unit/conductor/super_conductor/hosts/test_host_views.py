"""Tests of hosts: services and nodes of all cells, changes to the one concerned, zones."""

import oslo_messaging
import pytest

from armillary import exception
from conductor.super_conductor.db import host_mappings
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.hosts import discovery
from conductor.super_conductor.hosts.cluster_metadata import MetadataPublisher
from conductor.super_conductor.hosts.host_views import Hosts
from objects.hosts.host_answers import AvailabilityZone, HostAvailability, ServiceChanges
from objects.hosts.service import Service
from tests import builders
from tests.fixtures.control_plane import NOW, ControlPlane, an_admin
from tests.fixtures.super_conductor.fake_cell_conductor import CellConductor

TIMEOUT = oslo_messaging.MessagingTimeout("no answer")


@pytest.fixture
def hosts(plane: ControlPlane) -> Hosts:
    plane.map_hosts()
    assert plane.links is not None
    facts = MetadataPublisher(plane.database, plane.peers.scheduler, plane.peers.placement)
    return Hosts(
        plane.conf, plane.database, plane.links, plane.peers.placement, facts,
        own_records=plane.records,
    )  # fmt: skip


@pytest.fixture
def cell(plane: ControlPlane) -> CellConductor:
    """Return the first cell, after a second one was added."""
    (cell,) = plane.cells.values()
    plane.add_cell("cell2", hosts=1)
    return cell


def put_into_zone(plane: ControlPlane, zone: str, *hosts: str) -> str:
    with plane.database.writer() as session:
        made = aggregates.create_aggregate(session, f"agg-{zone}", zone, now=NOW)
        for host in hosts:
            aggregates.add_host(session, made.uuid, host, now=NOW)
    return made.uuid


def test_services_of_all_cells_are_listed_with_cell_and_zone(
    plane: ControlPlane, cell: CellConductor, hosts: Hosts
) -> None:
    """Ordered by host."""
    put_into_zone(plane, "east", "cell1-host2")
    page = hosts.list_services(an_admin())
    found = page.services
    assert [(one.host, one.availability_zone) for one in found] == [
        ("cell1-host1", "nova"), ("cell1-host2", "east"), ("cell2-host1", "nova"),
    ]  # fmt: skip
    assert found[0].cell_uuid == cell.uuid
    assert [page.cell_names[str(one.cell_uuid)] for one in found] == ["cell1", "cell1", "cell2"]


def test_a_silent_cell_is_named(plane: ControlPlane, cell: CellConductor, hosts: Hosts) -> None:
    """The services of the others are listed."""
    plane.bus_of(cell).fail("list_services", TIMEOUT)
    found = hosts.list_services(an_admin())
    assert [one.host for one in found.services] == ["cell2-host1"]
    assert found.down_cells == ["cell1"]


def test_a_service_is_changed_in_its_cell(
    plane: ControlPlane, cell: CellConductor, hosts: Hosts
) -> None:
    """Whichever that is."""
    changes = ServiceChanges(disabled=True, disabled_reason="dust")
    changed = hosts.update_service(an_admin(), cell.services[1].uuid, changes)
    assert (changed.host, changed.disabled, changed.cell_uuid) == ("cell1-host2", True, cell.uuid)
    assert cell.services[1].disabled_reason == "dust"


def test_an_unknown_service_is_not_found(cell: CellConductor, hosts: Hosts) -> None:
    """All cells were asked."""
    with pytest.raises(exception.ServiceNotFound):
        hosts.update_service(an_admin(), builders.a_uuid(), ServiceChanges(disabled=True))


def test_a_service_that_may_be_in_a_silent_cell_is_not_called_unknown(
    plane: ControlPlane, cell: CellConductor, hosts: Hosts
) -> None:
    """It is unavailable."""
    plane.bus_of(cell).fail("list_services", TIMEOUT)
    with pytest.raises(exception.CellUnavailable, match="cell1"):
        hosts.update_service(an_admin(), builders.a_uuid(), ServiceChanges(disabled=True))


def test_a_deleted_service_takes_its_host_along(
    plane: ControlPlane, cell: CellConductor, hosts: Hosts
) -> None:
    """Out of its mapping and its aggregates, here and in placement."""
    aggregate = put_into_zone(plane, "east", "cell1-host1", "cell1-host2")
    hosts.delete_service(an_admin(), cell.services[0].uuid)
    with plane.database.reader() as session:
        assert host_mappings.find_host_mapping(session, "cell1-host1") is None
        assert aggregates.get_aggregate(session, aggregate).hosts == ["cell1-host2"]
    assert plane.placement.aggregates == {aggregate: [cell.nodes[0].uuid]}


def is_mapped(plane: ControlPlane, host: str) -> bool:
    with plane.database.reader() as session:
        return host_mappings.find_host_mapping(session, host) is not None


def discover(plane: ControlPlane) -> discovery.Discovered:
    assert plane.links is not None
    return discovery.discover_hosts(plane.database, plane.links, discovery.ForeignHosts())


def test_a_host_is_forgotten_though_the_answer_to_its_deletion_is_lost(
    plane: ControlPlane, cell: CellConductor, hosts: Hosts
) -> None:
    """The request cannot be repeated, as there is no such service; discovery does the rest."""
    aggregate = put_into_zone(plane, "east", "cell1-host1", "cell1-host2")
    plane.bus_of(cell).fail("delete_service", TIMEOUT, when_done=True)
    with pytest.raises(exception.CellUnavailable):
        hosts.delete_service(an_admin(), cell.services[0].uuid)
    assert is_mapped(plane, "cell1-host1")
    (left,) = discover(plane).left_aggregates
    assert (left.uuid, left.hosts) == (aggregate, ["cell1-host2"])
    assert not is_mapped(plane, "cell1-host1")
    assert discover(plane).left_aggregates == []


def test_a_host_whose_deletion_is_refused_stays_whatever_its_cell_lists(
    plane: ControlPlane, cell: CellConductor, hosts: Hosts
) -> None:
    """A cell that was restored from a backup may not know it for a while."""
    aggregate = put_into_zone(plane, "east", "cell1-host1")
    refusal = exception.InUse(what="The service", reason="servers live there")
    plane.bus_of(cell).fail("delete_service", refusal)
    with pytest.raises(exception.InUse):
        hosts.delete_service(an_admin(), cell.services[0].uuid)
    cell.services, cell.nodes = [], []
    assert discover(plane).left_aggregates == []
    assert is_mapped(plane, "cell1-host1")
    with plane.database.reader() as session:
        assert aggregates.get_aggregate(session, aggregate).hosts == ["cell1-host1"]


def test_nodes_of_all_cells_are_listed_with_services_and_usages(
    cell: CellConductor, hosts: Hosts
) -> None:
    """As placement has them."""
    found = hosts.list_compute_nodes(an_admin())
    assert [node.host for node in found.nodes] == ["cell1-host1", "cell1-host2", "cell2-host1"]
    assert set(found.services) == {"cell1-host1", "cell1-host2", "cell2-host1"}
    assert found.usages[cell.nodes[0].uuid]["VCPU"]["used"] == 1
    assert found.down_cells == []


@pytest.mark.parametrize("by", ["uuid", "node"])
def test_a_node_is_shown_with_its_instances(
    plane: ControlPlane, cell: CellConductor, hosts: Hosts, by: str
) -> None:
    """By UUID or by name."""
    uuids = plane.build(2)
    found = hosts.get_compute_node(an_admin(), getattr(cell.nodes[0], by))
    assert found.node.host == "cell1-host1"
    assert found.service is not None
    assert found.service.host == "cell1-host1"
    assert found.usages == {"VCPU": {"total": 8, "used": 1}}
    assert [one.uuid for one in found.instances] == uuids[:1]


@pytest.mark.parametrize("by", ["uuid", "host"])
def test_one_node_is_asked_of_its_cell_alone(
    plane: ControlPlane, cell: CellConductor, hosts: Hosts, by: str
) -> None:
    """Which answers though another is silent, and with one host instead of all."""
    (other,) = {*plane.cells.values()} - {cell}
    plane.bus_of(other).fail("get_host_records", TIMEOUT)
    for each in (cell, other):
        plane.bus_of(each).fail("list_compute_nodes", TIMEOUT)
    put_into_zone(plane, "east", "cell1-host2")
    found = hosts.get_compute_node(an_admin(), getattr(cell.nodes[1], by))
    assert (found.node.host, found.node.cell_uuid) == ("cell1-host2", cell.uuid)
    assert found.service is not None
    assert found.service.availability_zone == "east"
    with pytest.raises(exception.CellUnavailable, match="cell2"):
        hosts.get_compute_node(an_admin(), "cell2-host1")


def test_a_node_that_is_not_in_its_hosts_mapping_is_searched_in_all_cells(
    plane: ControlPlane, cell: CellConductor, hosts: Hosts
) -> None:
    """Discovery has not seen it yet, or it has another name than its host."""
    cell.nodes[0] = cell.nodes[0].with_values(uuid=builders.a_uuid(), node="rack1.example.org")
    for name in (cell.nodes[0].uuid, "rack1.example.org"):
        assert hosts.get_compute_node(an_admin(), name).node.host == "cell1-host1"


def test_services_of_some_hosts_are_found_in_their_cells(
    plane: ControlPlane, cell: CellConductor, hosts: Hosts
) -> None:
    """No other cell is asked; one that does not answer is left out."""
    put_into_zone(plane, "east", "cell1-host2")
    (other,) = {*plane.cells.values()} - {cell}
    plane.bus_of(other).fail("find_compute_services", TIMEOUT)
    found = hosts.find_compute_services(an_admin(), ["cell1-host2", "cell1-host9"])
    assert {host: one.availability_zone for host, one in found.items()} == {"cell1-host2": "east"}
    assert found["cell1-host2"].cell_uuid == cell.uuid
    assert set(hosts.find_compute_services(an_admin(), ["cell1-host1", "cell2-host1"])) == {
        "cell1-host1"
    }


def test_servers_on_some_hosts_are_listed_by_name(
    plane: ControlPlane, cell: CellConductor, hosts: Hosts
) -> None:
    """Those that are mapped to the cell that has the host."""
    first, second = plane.build(2)
    stray = builders.an_instance("stray", host="cell1-host1")
    cell.instances[stray.uuid] = stray
    found = hosts.list_servers_on_hosts(an_admin(), ["cell1-host1", "cell2-host1"])
    assert [(one.uuid, one.host) for one in found] == [(first, "cell1-host1")]
    cell.instances[second] = cell.instances[second].with_values(host="cell2-host1")
    assert [
        one.uuid for one in hosts.list_servers_on_hosts(an_admin(), ["cell1-host1", "cell2-host1"])
    ] == [first]


def test_servers_in_a_silent_cell_are_not_called_none(
    plane: ControlPlane, cell: CellConductor, hosts: Hosts
) -> None:
    """They are unavailable."""
    plane.bus_of(cell).fail("list_instances_on_hosts", TIMEOUT)
    assert hosts.list_servers_on_hosts(an_admin(), ["cell2-host1"]) == []
    with pytest.raises(exception.CellUnavailable, match="cell1"):
        hosts.list_servers_on_hosts(an_admin(), ["cell1-host1", "cell2-host1"])


def test_an_unknown_node_is_not_found(cell: CellConductor, hosts: Hosts) -> None:
    """All cells were asked."""
    with pytest.raises(exception.ComputeNodeNotFound):
        hosts.get_compute_node(an_admin(), "none")


# Zones


def test_zones_have_hosts_and_say_whether_they_are_up(
    plane: ControlPlane, cell: CellConductor, hosts: Hosts
) -> None:
    """A zone is available when a host of it is up and enabled."""
    put_into_zone(plane, "east", "cell1-host1")
    put_into_zone(plane, "empty")
    cell.services[0] = cell.services[0].with_values(up=False)
    cell.services.append(
        Service.from_values(uuid=builders.a_uuid(), host="c", binary="armillary-conductor")
    )
    assert hosts.list_availability_zones(an_admin()) == [
        AvailabilityZone("east", {"cell1-host1": HostAvailability(up=False, disabled=False)}),
        AvailabilityZone("empty", {}),
        AvailabilityZone(
            "nova",
            {
                "cell1-host2": HostAvailability(up=True, disabled=False),
                "cell2-host1": HostAvailability(up=True, disabled=False),
            },
        ),
    ]


@pytest.mark.parametrize(
    ("states", "is_available"),
    [([], False), ([(False, False)], False), ([(True, True)], False),
     ([(True, True), (True, False)], True)],
    ids=["no-hosts", "down", "disabled", "one-of-two"],
)  # fmt: skip
def test_a_zone_is_available_with_a_host_that_is_up_and_enabled(
    states: list[tuple[bool, bool]], is_available: bool
) -> None:
    """One is enough."""
    hosts = {
        str(number): HostAvailability(up=up, disabled=disabled)
        for number, (up, disabled) in enumerate(states)
    }
    assert AvailabilityZone("east", hosts).available is is_available
