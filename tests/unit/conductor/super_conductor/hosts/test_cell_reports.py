"""Reports of a cell about hosts and instances of another cell, and what is believed of them."""

from types import SimpleNamespace
from typing import Any

import pytest

from armillary import exception
from armillary.context import RequestContext
from conductor.common.clock import moment
from conductor.super_conductor.db import cell_changes, host_mappings, instance_mappings
from conductor.super_conductor.delete.retention import Reclaimer
from conductor.super_conductor.hosts import cell_reports
from conductor.super_conductor.hosts.cell_enrolments import CellEnrolments
from conductor.super_conductor.hosts.cluster_metadata import MetadataPublisher
from conductor.super_conductor.hosts.discovery import (
    ForeignHosts,
    discover_hosts,
    find_refused_hosts,
)
from conductor.super_conductor.hosts.host_views import Hosts
from conductor.super_conductor.move.cell_relay import CellRelay
from conductor.super_conductor.servers.cell_server_pages import CellServers
from objects.hosts.compute_node import ComputeNode
from objects.instance import Instance
from objects.instances.instance_command import InstanceCommand
from objects.instances.server_filters import MigrationFilters, ServerFilters
from objects.instances.server_record import ServerRecord
from rpc.signing.trust import SERVICES, Identity, TrustList
from tests import builders
from tests.fixtures.control_plane import NOW, ControlPlane, a_user, an_admin
from tests.fixtures.super_conductor.fake_cell_conductor import CellConductor


@pytest.fixture
def victim(plane: ControlPlane) -> CellConductor:
    """Return the first cell, with its hosts discovered."""
    (cell,) = plane.cells.values()
    plane.map_hosts()
    return cell


@pytest.fixture
def thief(plane: ControlPlane, victim: CellConductor) -> CellConductor:
    """Return a second cell whose conductor was taken over."""
    made = plane.add_cell("thief", hosts=1)
    plane.map_hosts()
    return made


@pytest.fixture
def hosts(plane: ControlPlane) -> Hosts:
    assert plane.links is not None
    facts = MetadataPublisher(plane.database, plane.peers.scheduler, plane.peers.placement)
    return Hosts(
        plane.conf, plane.database, plane.links, plane.peers.placement, facts,
        own_records=plane.records,
    )  # fmt: skip


def mapped(plane: ControlPlane, cell: CellConductor) -> dict[str, list[str]]:
    return plane.database.read(host_mappings.list_node_uuids, cell.uuid)


def test_a_cell_adds_no_host_of_another_to_the_lists(
    victim: CellConductor, thief: CellConductor, hosts: Hosts
) -> None:
    """Neither its service, nor a compute node of its name or UUID."""
    theirs = victim.nodes[0]
    thief.add_host(theirs.host)
    own = thief.nodes[0]
    thief.nodes.append(ComputeNode.from_values(uuid=theirs.uuid, host=own.host, node="n"))
    services = hosts.list_services(an_admin()).services
    assert [one.cell_uuid for one in services if one.host == theirs.host] == [victim.uuid]
    nodes = hosts.list_compute_nodes(an_admin()).nodes
    found = {node.uuid: node.cell_uuid for node in nodes}
    assert found == {**{node.uuid: victim.uuid for node in victim.nodes}, own.uuid: thief.uuid}


def test_a_cell_takes_no_compute_node_of_another_into_its_hosts(
    plane: ControlPlane, victim: CellConductor, thief: CellConductor
) -> None:
    """Aggregates, and so availability zones, would be changed by that."""
    before, theirs = mapped(plane, victim), victim.nodes[0]
    own = thief.nodes[0]
    thief.nodes.append(ComputeNode.from_values(uuid=theirs.uuid, host=own.host, node="n"))
    thief.add_host(theirs.host)
    assert plane.links is not None
    discover_hosts(plane.database, plane.links, ForeignHosts())
    assert mapped(plane, victim) == before
    assert mapped(plane, thief) == {own.host: [own.uuid]}


def test_a_stolen_cell_key_takes_no_name_that_another_cell_is_enrolled_for(
    plane: ControlPlane, thief: CellConductor, victim: CellConductor
) -> None:
    """It reports the host before the rightful cell does."""
    identity = Identity("victim", "cell_conductor", scope=victim.uuid, hosts=("rack1-*",))
    listed: Any = SimpleNamespace(current=lambda: TrustList(SERVICES, 1, [identity]))
    assert plane.links is not None
    plane.links.enrolments = CellEnrolments([listed])
    thief.add_host("rack1-7")
    discover_hosts(plane.database, plane.links, ForeignHosts())
    assert "rack1-7" not in mapped(plane, thief)
    victim.add_host("rack1-7")
    discover_hosts(plane.database, plane.links, ForeignHosts())
    assert "rack1-7" in mapped(plane, victim)


def test_a_stolen_cell_key_names_no_host_that_it_is_not_enrolled_for(
    plane: ControlPlane, thief: CellConductor, victim: CellConductor
) -> None:
    """Where signatures are required, until an operator has approved it; those it had stay."""
    assert plane.links is not None
    identity = Identity("thief", "cell_conductor", scope=thief.uuid, hosts=("rack2-*",))
    listed: Any = SimpleNamespace(current=lambda: TrustList(SERVICES, 1, [identity]))
    plane.links.enrolments = CellEnrolments([listed], is_required=True)
    before = mapped(plane, thief).keys()
    for cell, host in ((thief, "next"), (thief, "rack2-1"), (victim, "other")):
        cell.add_host(host)
    for _ in range(2):
        discover_hosts(plane.database, plane.links, ForeignHosts())
        assert mapped(plane, thief).keys() == before | {"rack2-1"}
        assert "other" not in mapped(plane, victim)
    assert find_refused_hosts(plane.database, plane.links, thief.uuid) == ["next"]
    with plane.database.writer() as session:
        host_mappings.map_hosts(session, victim.uuid, {"other": []})  # as cell approve-host
    discover_hosts(plane.database, plane.links, ForeignHosts())
    (node,) = (one.uuid for one in victim.nodes if one.host == "other")
    assert mapped(plane, victim)["other"] == [node]
    assert find_refused_hosts(plane.database, plane.links, victim.uuid) == []


def test_a_name_of_two_cells_is_that_of_none_until_it_is_approved(
    plane: ControlPlane, thief: CellConductor, victim: CellConductor
) -> None:
    """Whichever reports it first; or until an operator corrects the patterns."""
    lists = {"thief": ("rack*",), "victim": ("rack2-*",)}
    scopes = {"thief": thief.uuid, "victim": victim.uuid}

    def current() -> TrustList:
        found = [
            Identity(name, "cell_conductor", scope=scopes[name], hosts=patterns)
            for name, patterns in lists.items()
        ]
        return TrustList(SERVICES, 1, found)

    listed: Any = SimpleNamespace(current=current)
    assert plane.links is not None
    plane.links.enrolments = CellEnrolments([listed], is_required=True)
    for cell in (thief, victim):
        for host in ("rack2-7", "rack2-8"):
            cell.add_host(host)
        discover_hosts(plane.database, plane.links, ForeignHosts())
        assert find_refused_hosts(plane.database, plane.links, cell.uuid) == ["rack2-7", "rack2-8"]
    with plane.database.writer() as session:
        host_mappings.map_hosts(session, victim.uuid, {"rack2-8": []})  # as cell approve-host
    discover_hosts(plane.database, plane.links, ForeignHosts())
    assert "rack2-8" in mapped(plane, victim)
    assert "rack2-7" not in mapped(plane, victim)
    lists["thief"] = ("rack1-*",)
    for _ in range(2):
        discover_hosts(plane.database, plane.links, ForeignHosts())
        assert "rack2-7" in mapped(plane, victim)
        assert mapped(plane, thief).keys().isdisjoint({"rack2-7", "rack2-8"})


def test_a_cell_has_no_host_of_another_forgotten(
    plane: ControlPlane,
    victim: CellConductor,
    thief: CellConductor,
    hosts: Hosts,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When an operator deletes a service of its own."""

    def lie(context: RequestContext, service_uuid: str) -> str:
        return victim.nodes[0].host

    monkeypatch.setattr(thief, "delete_service", lie)
    with pytest.raises(exception.RpcFailed, match="wrong answer"):
        hosts.delete_service(an_admin(), thief.services[0].uuid)
    assert victim.nodes[0].host in mapped(plane, victim)


def test_a_cell_has_no_instance_of_another_deleted(
    plane: ControlPlane, victim: CellConductor, thief: CellConductor
) -> None:
    """By the lie that it was deleted softly long ago."""
    plane.conf.set_override("reclaim_instance_interval", 60)
    (uuid,) = plane.build()
    assert uuid in victim.instances
    plane.clock.advance(100_000)
    thief.instances[uuid] = victim.instances[uuid].with_values(
        vm_state="soft-delete", updated_at=NOW
    )
    reclaiming = Reclaimer(
        plane.conf, plane.database, plane.peers.cells, plane.deletes.delete, plane.clock
    )
    assert reclaiming.run() == 0
    victim.instances[uuid].vm_state, victim.instances[uuid].updated_at = "soft-delete", NOW
    assert reclaiming.run() == 1


def test_a_cell_answers_for_the_instance_that_it_was_asked_for(
    plane: ControlPlane, victim: CellConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another UUID in its answer would be believed in the place of the one asked for."""
    (uuid,) = plane.build()
    other = victim.instances[uuid].with_values(uuid=builders.a_uuid())

    def lie(context: RequestContext, instance_uuid: str) -> Instance:
        return other

    monkeypatch.setattr(victim, "get_instance", lie)
    with pytest.raises(exception.RpcFailed, match="wrong answer"):
        plane.servers.get_server(a_user(), uuid)


def test_a_cell_tells_of_no_migration_of_anothers_instance(
    plane: ControlPlane, victim: CellConductor, thief: CellConductor
) -> None:
    """Neither of a new one, nor in the place of a true one; both cells of a move tell of that."""
    (uuid,) = plane.build()
    true = builders.a_migration(uuid)
    changed = {"status": "error", "updated_at": NOW.replace(year=2099)}
    victim.migrations = [true]
    thief.migrations = [builders.a_migration(uuid), true.with_values(**changed)]

    def shown() -> list[tuple[str, str, str | None]]:
        page = plane.migrations.list_migrations(
            an_admin(), filters=MigrationFilters(instance_uuid=uuid), limit=9
        )
        return [(each.uuid, each.status, each.cell_uuid) for each in page.migrations]

    assert shown() == [(true.uuid, "running", victim.uuid)]
    with plane.database.writer() as session:
        cell_changes.allow(session, true.uuid, uuid, victim.uuid, now=moment(plane.clock()))
        cell_changes.set_target(session, true.uuid, thief.uuid)
    assert shown() == [(true.uuid, "error", thief.uuid)]


def test_a_cell_gives_no_server_to_another_project(
    plane: ControlPlane, victim: CellConductor, thief: CellConductor
) -> None:
    """Whose list would show it, whose image its snapshot would be, and whose usage would grow."""
    assert plane.links is not None
    (uuid,) = plane.build()
    victim.instances[uuid] = victim.instances[uuid].with_values(project_id="p2", user_id="u2")
    thief.instances[uuid] = victim.instances[uuid]
    shown = plane.endpoint.get_server(an_admin(), uuid)
    listed = plane.endpoint.list_servers(a_user(project_id="p2"), ServerFilters(), 10, None)
    pages = CellServers(plane.database, plane.links).pages(an_admin(), limit=10)
    own = plane.database.read(cell_reports.own_instances, victim.uuid, [victim.instances[uuid]])
    found = [shown, *own, *(one for page in pages for one in page.instances)]
    assert [(one.project_id, one.user_id) for one in found] == [("p1", "u1")] * 3
    assert listed.instances == []


# Moves between cells


@pytest.fixture
def relay(plane: ControlPlane) -> CellRelay:
    return CellRelay(plane.database, plane.peers.cells, plane.deletes, plane.peers.placement)


@pytest.fixture
def record(plane: ControlPlane, victim: CellConductor) -> ServerRecord:
    """Return the record of a server whose move from the victim's cell to another is allowed."""
    (uuid,) = plane.build()
    migration = builders.a_migration(instance_uuid=uuid)
    with plane.database.writer() as session:
        cell_changes.allow(session, migration.uuid, uuid, victim.uuid, now=moment(plane.clock()))
    return ServerRecord.from_values(
        instance=victim.instances[uuid], migration=migration, flow_state={}, commands_total=0
    )


def test_a_cell_passes_on_no_server_as_another_project_s(
    plane: ControlPlane,
    victim: CellConductor,
    thief: CellConductor,
    relay: CellRelay,
    record: ServerRecord,
) -> None:
    """The other cell would book it there."""
    command = InstanceCommand.from_values(instance_uuid=record.instance.uuid, verb="x", sequence=1)
    record.instance = record.instance.with_values(project_id="p2")
    context = an_admin()
    with plane.database.writer() as session:
        cell_changes.set_target(session, record.migration.uuid, thief.uuid)
    for attack in (
        lambda: relay.execute_in_other_cell(context, victim.uuid, thief.uuid, record, command),
        lambda: relay.hand_over_instance(context, victim.uuid, record),
    ):
        with pytest.raises(exception.NotItsOwn, match="does not belong to project p2"):
            attack()


def test_a_third_cell_joins_no_move(
    plane: ControlPlane,
    victim: CellConductor,
    thief: CellConductor,
    relay: CellRelay,
    record: ServerRecord,
) -> None:
    """Nor does it end it, nor get the instance: all though it knows the UUIDs."""
    migration, instance = record.migration.uuid, record.instance.uuid
    command = InstanceCommand.from_values(instance_uuid=instance, verb="stop", sequence=1)
    context = an_admin()
    attacks = [
        lambda: relay.execute_in_other_cell(context, thief.uuid, thief.uuid, record, command),
        lambda: relay.execute_in_other_cell(context, thief.uuid, victim.uuid, record, command),
        lambda: relay.hand_over_instance(context, thief.uuid, record),
        lambda: relay.end_cell_change(context, thief.uuid, instance, migration),
    ]
    for attack in attacks:
        with pytest.raises(exception.NotItsOwn, match="does not take part"):
            attack()
    with plane.database.reader() as session:
        change = cell_changes.find(session, migration)
        mapping = instance_mappings.find_mapping(session, instance)
    assert change is not None
    assert (change.source_cell_uuid, change.target_cell_uuid) == (victim.uuid, None)
    assert mapping is not None
    assert mapping.cell_uuid == victim.uuid
    assert plane.placement.cells == {}


def test_a_cell_is_told_what_was_deleted_and_nothing_of_the_living(
    plane: ControlPlane, relay: CellRelay, victim: CellConductor
) -> None:
    """The owner of the record decides; what it does not know any more was deleted before."""
    alive, deleted = plane.build(2)
    plane.deletes.delete(an_admin(), deleted)
    unknown = builders.a_uuid()
    asked = [alive, deleted, unknown, deleted]
    assert relay.list_deleted_instances(an_admin(), asked) == sorted([deleted, unknown])
    with pytest.raises(exception.Invalid):
        relay.list_deleted_instances(an_admin(), asked * 300)
