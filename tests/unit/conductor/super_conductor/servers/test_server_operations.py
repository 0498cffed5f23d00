"""Tests of what is asked of servers after their build: who may, what is checked, where it goes."""

import dataclasses
from typing import Any

import pytest

from armillary import exception
from armillary.context import RequestContext
from conductor.common.clock import moment
from conductor.super_conductor.accept import pinned_zones
from conductor.super_conductor.db import deferred_operations
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.db.deferred_operations import Deferred
from conductor.super_conductor.delete import retention
from conductor.super_conductor.delete.retention import Reclaimer
from objects.instances.server_changes import ServerChanges
from objects.instances.server_filters import MigrationFilters
from tests import builders
from tests.builders import a_migration
from tests.fixtures.control_plane import ControlPlane, a_user, an_admin
from tests.fixtures.messages.direct_bus import Killed
from tests.fixtures.super_conductor.fake_cell_conductor import CellConductor
from tests.unit.conductor.super_conductor.servers.operated_servers import cell, change, usage, uuid

__all__ = ["cell", "uuid"]


# Where they go


@pytest.mark.parametrize(
    "operation",
    ["stop", "start", "reboot", "restore", "confirm_resize", "revert_resize", "shelve",
     "shelve_offload", "soft_delete"],
)  # fmt: skip
def test_what_needs_no_host_goes_to_the_cell(
    plane: ControlPlane, cell: CellConductor, uuid: str, operation: str
) -> None:
    """With its arguments, and nothing is stored here."""
    plane.operate(uuid, operation, is_hard=True)
    assert cell.begun == [(uuid, operation, {"is_hard": True})]
    assert plane.left() == []


def test_an_unknown_operation_names_those_that_are_known(plane: ControlPlane, uuid: str) -> None:
    """A newer API may ask an older conductor."""
    with pytest.raises(exception.Invalid, match=r"unknown operation 'explode'; known: .*stop"):
        plane.operate(uuid, "explode")


def test_a_server_of_another_project_is_not_there(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """For everything that can be asked."""
    stranger = a_user("p2")
    with pytest.raises(exception.InstanceNotFound):
        plane.operate(uuid, "stop", context=stranger)
    with pytest.raises(exception.InstanceNotFound):
        plane.guest_requests.get_console_output(stranger, uuid, lines=None)
    with pytest.raises(exception.InstanceNotFound):
        plane.migrations.list_migrations(
            stranger, filters=MigrationFilters(instance_uuid=uuid), limit=1
        )
    with pytest.raises(exception.InstanceNotFound):
        plane.migrations.abort_migration(stranger, uuid, builders.a_uuid())
    assert cell.begun == []


@pytest.mark.parametrize("operation", ["stop", "resize", "migrate", "unshelve", "lock", "update"])
def test_a_server_that_is_being_scheduled_has_to_wait(
    plane: ControlPlane, cell: CellConductor, operation: str
) -> None:
    """It is in no cell yet."""
    (uuid,) = plane.create()
    with pytest.raises(exception.InstanceInvalidState, match="it is being scheduled"):
        plane.operate(uuid, operation, flavor="large")
    plane.workers.work()
    plane.check(uuid)


def test_a_server_in_cell0_can_be_renamed(plane: ControlPlane, cell: CellConductor) -> None:
    """Its user tells it from others by that."""
    plane.scheduler.error = exception.NoValidHost(reason="none")
    (uuid,) = plane.build()
    plane.operate(uuid, "update", changes=ServerChanges(name="failed"))
    assert plane.servers.get_server(a_user(), uuid).name == "failed"
    plane.operate(uuid, "force_delete")
    plane.settle()
    with pytest.raises(exception.InstanceNotFound):
        plane.peers.cell0.update_instance(uuid, ServerChanges(name="late"))


def test_a_server_in_cell0_can_only_be_deleted(plane: ControlPlane, cell: CellConductor) -> None:
    """It never had a host."""
    plane.scheduler.error = exception.NoValidHost(reason="none")
    (uuid,) = plane.build()
    with pytest.raises(exception.InstanceInvalidState, match="it has no host"):
        plane.operate(uuid, "stop")
    with pytest.raises(exception.InstanceInvalidState, match="it is on no host yet"):
        plane.guest_requests.get_console_output(a_user(), uuid, lines=None)
    with pytest.raises(exception.MigrationNotFound):
        plane.migrations.abort_migration(an_admin(), uuid, builders.a_uuid())
    plane.operate(uuid, "force_delete")
    plane.settle()
    plane.check()


def test_a_forced_delete_deletes_immediately(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """Also where deleted servers are kept for a while."""
    plane.conf.set_override("reclaim_instance_interval", 60)
    plane.operate(uuid, "force_delete")
    plane.settle()
    assert uuid not in cell.instances


# Locks


def test_a_lock_is_kept_by_the_cell(plane: ControlPlane, cell: CellConductor, uuid: str) -> None:
    """With its reason, until it is unlocked."""
    plane.operate(uuid, "lock", reason="it burns")
    locked = plane.servers.get_server(a_user(), uuid)
    assert (locked.locked, locked.locked_reason) == (True, "it burns")
    plane.operate(uuid, "unlock")
    unlocked = plane.servers.get_server(a_user(), uuid)
    assert (unlocked.locked, unlocked.locked_reason) == (False, None)


@pytest.mark.parametrize(
    "operation", ["stop", "rebuild", "resize", "migrate", "unshelve", "force_delete", "soft_delete"]
)
def test_a_locked_server_is_changed_by_administrators_only(
    plane: ControlPlane, cell: CellConductor, uuid: str, operation: str
) -> None:
    """Whatever is asked."""
    plane.operate(uuid, "lock")
    with pytest.raises(exception.InstanceLocked):
        plane.operate(uuid, operation, flavor="large")
    assert cell.begun == []
    assert uuid in cell.instances


def test_what_an_administrator_locked_is_not_unlocked_by_its_owner(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """Unless the API says that the owner may."""
    plane.operate(uuid, "lock", context=an_admin())
    with pytest.raises(exception.Forbidden, match="locked by an administrator"):
        plane.operate(uuid, "unlock")
    with pytest.raises(exception.Forbidden):
        plane.operate(uuid, "unlock", override=False)
    assert plane.servers.get_server(a_user(), uuid).locked
    plane.operate(uuid, "unlock", override=True)
    assert not plane.servers.get_server(a_user(), uuid).locked


def test_an_administrator_unlocks_whatever_is_locked(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """Regardless of who locked it; an older API does not say that they may."""
    for owner in (a_user(), an_admin()):
        plane.operate(uuid, "lock", context=owner)
        plane.operate(uuid, "unlock", context=an_admin())
        assert not plane.servers.get_server(a_user(), uuid).locked


def test_an_administrator_changes_a_locked_server(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """Hosts have to be emptied."""
    plane.operate(uuid, "lock")
    plane.operate(uuid, "migrate", context=an_admin())
    plane.workers.work()
    assert [operation for _, operation, _ in cell.begun] == ["migrate"]


# Deleting softly


def test_a_delete_is_soft_where_servers_are_kept(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """Its cell keeps it, off, until it is reclaimed."""
    assert not plane.operations.soft_delete(a_user(), uuid)
    plane.conf.set_override("reclaim_instance_interval", 60)
    assert plane.operations.soft_delete(a_user(), uuid)
    assert cell.begun == [(uuid, "soft_delete", {})]


def test_what_cannot_be_kept_is_deleted_now(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """Such as one whose builds failed, or that is in no cell."""
    plane.conf.set_override("reclaim_instance_interval", 60)
    cell.refusal = exception.InstanceInvalidState(
        instance_uuid=uuid, operation="soft_delete", reason="it is on no host"
    )
    assert not plane.operations.soft_delete(a_user(), uuid)
    (pending,) = plane.create()
    assert not plane.operations.soft_delete(a_user(), pending)


@pytest.mark.parametrize(
    "state", [{"vm_state": "soft-delete"}, {"task_state": "soft-deleting"}], ids=["kept", "going"]
)
def test_a_second_delete_does_not_end_what_the_first_keeps(
    plane: ControlPlane, cell: CellConductor, uuid: str, state: dict[str, str]
) -> None:
    """It may be a repeat of the first; a forced delete is for that."""
    plane.conf.set_override("reclaim_instance_interval", 60)
    change(cell, uuid, **state)
    assert plane.operations.soft_delete(a_user(), uuid)
    assert cell.begun == []


def test_a_soft_delete_of_a_resized_server_ends_its_resize(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """The cell confirms it first; without a finished migration the server is just deleted."""
    plane.conf.set_override("reclaim_instance_interval", 60)
    change(cell, uuid, vm_state="resized")
    assert plane.operations.soft_delete(a_user(), uuid)
    assert cell.begun == [(uuid, "soft_delete", {})]
    cell.refusal = exception.MigrationNotFound(migration="a finished resize")
    assert not plane.operations.soft_delete(a_user(), uuid)


def test_a_locked_server_is_not_deleted_softly(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """Nor immediately instead."""
    plane.conf.set_override("reclaim_instance_interval", 60)
    plane.operate(uuid, "lock")
    with pytest.raises(exception.InstanceLocked):
        plane.operations.soft_delete(a_user(), uuid)


def expire(plane: ControlPlane, cell: CellConductor, *uuids: str) -> None:
    """Have servers soft-deleted for longer than they are kept."""
    plane.conf.set_override("reclaim_instance_interval", 60)
    for each in uuids:
        change(cell, each, vm_state="soft-delete", updated_at=moment(plane.clock()))
    plane.clock.advance(61)


def test_what_was_kept_long_enough_is_deleted_for_good(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """Not before, and its quota is free with it."""
    plane.conf.set_override("reclaim_instance_interval", 60)
    reclaiming = Reclaimer(
        plane.conf, plane.database, plane.peers.cells, plane.deletes.delete, plane.clock
    )
    change(cell, uuid, vm_state="soft-delete", updated_at=moment(plane.clock()))
    assert reclaiming.run() == 0
    plane.clock.advance(61)
    assert reclaiming.run() == 1
    plane.settle()
    plane.check()
    assert uuid not in cell.instances
    assert usage(plane) == (0, 0)


def test_servers_that_are_kept_hide_none_that_was_kept_long_enough(
    plane: ControlPlane, cell: CellConductor, uuid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list has a bound, and begins with the newest servers."""
    monkeypatch.setattr(retention, "BATCH_SIZE", 1)
    expire(plane, cell, uuid)
    (newer,) = plane.build()
    created = moment(plane.clock())
    change(cell, newer, vm_state="soft-delete", updated_at=created, created_at=created)
    reclaiming = Reclaimer(
        plane.conf, plane.database, plane.peers.cells, plane.deletes.delete, plane.clock
    )
    assert reclaiming.run() == 1
    plane.settle()
    assert (uuid in cell.instances, newer in cell.instances) == (False, True)


def test_a_server_that_is_restored_while_others_are_deleted_is_not(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """It was listed with them, as kept for long enough."""
    both = {uuid, *plane.build()}
    expire(plane, cell, *both)

    def delete(context: RequestContext, deleted: str) -> None:
        (other,) = both - {deleted}
        change(cell, other, vm_state="active")
        plane.deletes.delete(context, deleted)

    reclaiming = Reclaimer(plane.conf, plane.database, plane.peers.cells, delete, plane.clock)
    assert reclaiming.run() == 1
    plane.settle()
    (kept,) = both & cell.instances.keys()
    assert cell.instances[kept].vm_state == "active"


def test_a_server_that_is_restored_as_it_is_reclaimed_is_not(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """The restore was accepted after the server was listed, or waits for its cell."""
    expire(plane, cell, uuid)
    reclaiming = Reclaimer(
        plane.conf, plane.database, plane.peers.cells, plane.deletes.delete, plane.clock
    )
    plane.bus_of(cell).meanwhile(
        "begin_reclaim", lambda: change(cell, uuid, task_state="restoring")
    )
    assert reclaiming.run() == 0
    change(cell, uuid, task_state=None)
    waiting = Deferred(uuid, "restore", {}, a_user(), moment(plane.clock()))
    plane.database.run_in_writer(lambda session: deferred_operations.put(session, waiting))
    assert reclaiming.run() == 0
    plane.database.run_in_writer(lambda session: deferred_operations.remove(session, uuid))
    assert reclaiming.run() == 1
    assert cell.instances == {}


@pytest.mark.parametrize("kept_seconds", [60, 0, 3600])
def test_a_reclaim_goes_on_after_a_kill(
    plane: ControlPlane, cell: CellConductor, uuid: str, kept_seconds: int
) -> None:
    """The conductor died after its cell had agreed, and before the delete was stored.

    Its configuration was changed then, for deletes immediately or for longer; that server is lost.
    """
    expire(plane, cell, uuid)
    (kept,) = plane.build()
    change(cell, kept, vm_state="soft-delete", updated_at=moment(plane.clock()))

    def die(context: RequestContext, deleted: str) -> None:
        raise Killed

    with pytest.raises(Killed):
        Reclaimer(plane.conf, plane.database, plane.peers.cells, die, plane.clock).run()
    plane.conf.set_override("reclaim_instance_interval", kept_seconds)
    delete = plane.deletes.delete
    assert Reclaimer(plane.conf, plane.database, plane.peers.cells, delete, plane.clock).run() == 1
    assert cell.instances.keys() == {kept}


# Rebuilding, unshelving


def test_a_rebuild_from_the_same_image_asks_no_scheduler(
    plane: ControlPlane, cell: CellConductor
) -> None:
    """It runs there already."""
    plane.add_image("loop")
    (uuid,) = plane.build(image="loop")
    plane.scheduler.specs.clear()
    changes = ServerChanges(name="new", metadata={"a": "b"}, metadata_items_max=128)
    asked = dataclasses.replace(changes, metadata_items_max=-1)
    plane.operate(uuid, "rebuild", image="loop", changes=asked)
    ((_, operation, arguments),) = cell.begun
    assert operation == "rebuild"
    assert ServerChanges(**arguments["changes"]) == changes
    assert arguments["image"].name == "loop"
    assert plane.scheduler.specs == []


@pytest.mark.parametrize(
    ("image", "error"),
    [("none", exception.ImageNotFound), ("half", exception.Invalid)],
    ids=["unknown", "not active"],
)
def test_an_image_that_will_not_do_is_refused(
    plane: ControlPlane, cell: CellConductor, uuid: str, image: str, error: type[Exception]
) -> None:
    """As at a creation."""
    plane.add_image("half", status="queued")
    with pytest.raises(error):
        plane.operate(uuid, "rebuild", image=image)
    assert cell.begun == []


@pytest.mark.parametrize("operation", ["rebuild", "rescue"])
def test_no_other_image_takes_what_no_flavor_limits(
    plane: ControlPlane, cell: CellConductor, operation: str
) -> None:
    """An administrator made the server with a flavor without a disk, from an image of his own."""
    plane.add_image("small", disk_format="qcow2")
    plane.add_image("huge", disk_format="qcow2")
    plane.add_flavor("diskless", root_gb=0)
    (uuid,) = plane.build(image="small", flavor="diskless")
    with pytest.raises(exception.Forbidden, match="image huge could take any room"):
        plane.operate(uuid, operation, image="huge", needs_root_disk=True)
    assert cell.begun == []


def test_what_was_not_offloaded_is_unshelved_where_it_is(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """It kept its place; another one cannot be asked for."""
    change(cell, uuid, vm_state="shelved")
    with pytest.raises(exception.InstanceInvalidState, match="it is not offloaded"):
        plane.operate(uuid, "unshelve", availability_zone="nova")
    with pytest.raises(exception.InstanceInvalidState, match="it is not offloaded"):
        plane.operate(uuid, "unshelve", unpins_zone=True)
    plane.operate(uuid, "unshelve")
    assert cell.begun == [(uuid, "unshelve_here", {})]


def offload(plane: ControlPlane, cell: CellConductor, uuid: str, *, zone: str | None) -> None:
    """Have a server offloaded that is pinned to a zone, with cell1-host1 in the zone north."""
    change(cell, uuid, vm_state="shelved_offloaded", host=None)
    plane.placement.held.clear()
    with plane.database.writer() as session:
        made = aggregates.create_aggregate(session, "north", "north", now=builders.A_TIME)
        aggregates.add_host(session, str(made.id), "cell1-host1", now=builders.A_TIME)
        pinned_zones.pin(session, uuid, zone)


@pytest.mark.parametrize(
    ("before", "asked", "after"),
    [
        (None, {}, None),
        (None, {"availability_zone": "north"}, "north"),
        ("nova", {"availability_zone": "north", "host": "cell1-host1"}, "north"),
        ("nova", {}, "nova"),
        ("nova", {"unpins_zone": True}, None),
        ("nova", {"unpins_zone": True, "host": "cell1-host1"}, None),
        ("north", {"host": "cell1-host1"}, "north"),
    ],
)
def test_what_was_offloaded_is_scheduled_to_its_zone_or_to_the_one_asked_for(
    plane: ControlPlane, cell: CellConductor, uuid: str,
    before: str | None, asked: dict[str, Any], after: str | None,
) -> None:  # fmt: skip
    """It is pinned to that zone from then on."""
    offload(plane, cell, uuid, zone=before)
    plane.operate(uuid, "unshelve", **asked)
    plane.workers.work()
    assert plane.scheduler.specs[-1].availability_zone == after
    assert cell.instances[uuid].vm_state == "active"
    with plane.database.reader() as session:
        assert pinned_zones.find(session, uuid) == after


@pytest.mark.parametrize(
    ("before", "asked", "refusal"),
    [
        (None, {"availability_zone": "atlantis"}, "atlantis is not available; known: north, nova"),
        ("nova", {"host": "cell1-host1"}, "cell1-host1 is in the availability zone north"),
        (None, {"availability_zone": "nova", "host": "cell1-host1"}, "pinned to nova"),
    ],
)
def test_a_zone_that_cannot_be_is_refused_immediately(
    plane: ControlPlane, cell: CellConductor, uuid: str,
    before: str | None, asked: dict[str, Any], refusal: str,
) -> None:  # fmt: skip
    """And the server stays pinned as it was."""
    offload(plane, cell, uuid, zone=before)
    with pytest.raises(exception.Invalid, match=refusal):
        plane.operate(uuid, "unshelve", **asked)
    with plane.database.reader() as session:
        assert pinned_zones.find(session, uuid) == before


# Consoles and migrations


def test_a_console_is_asked_of_the_cell(plane: ControlPlane, uuid: str) -> None:
    """All of it, or its end."""
    assert plane.guest_requests.get_console_output(a_user(), uuid, lines=None) == "hello\n"


def test_a_password_is_set_by_the_cell_unless_the_server_is_locked(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """Administrators may."""
    plane.guest_requests.set_admin_password(a_user(), uuid, password="new")
    assert cell.begun[-1] == (uuid, "set_admin_password", {"password": "new"})
    change(cell, uuid, locked=True)
    with pytest.raises(exception.InstanceLocked):
        plane.guest_requests.set_admin_password(a_user(), uuid, password="other")
    plane.guest_requests.set_admin_password(an_admin(), uuid, password="third")


def test_a_crash_dump_is_triggered_by_the_cell_unless_the_server_is_locked(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """Administrators may."""
    change(cell, uuid, locked=True)
    with pytest.raises(exception.InstanceLocked):
        plane.guest_requests.trigger_crash_dump(a_user(), uuid)
    plane.guest_requests.trigger_crash_dump(an_admin(), uuid)
    assert cell.begun[-1] == (uuid, "trigger_crash_dump", {})


def test_migrations_of_all_cells_are_listed_newest_first(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """As many as were asked for."""
    later = builders.A_TIME.replace(minute=1)
    cell.migrations = [a_migration(uuid)]
    other = plane.add_cell("cell2")
    other.migrations = [a_migration(builders.a_uuid(), created_at=later)]
    listed = plane.migrations.list_migrations(an_admin(), filters=MigrationFilters(), limit=2)
    assert [one.uuid for one in listed.migrations] == [
        other.migrations[0].uuid, cell.migrations[0].uuid,
    ]  # fmt: skip
    listed = plane.migrations.list_migrations(an_admin(), filters=MigrationFilters(), limit=1)
    assert len(listed.migrations) == 1
    after = MigrationFilters(marker=other.migrations[0].uuid)
    listed = plane.migrations.list_migrations(an_admin(), filters=after, limit=2)
    assert [one.uuid for one in listed.migrations] == [cell.migrations[0].uuid]
    unknown = MigrationFilters(marker=builders.a_uuid())
    with pytest.raises(exception.Invalid, match="marker"):
        plane.migrations.list_migrations(an_admin(), filters=unknown, limit=2)


def test_a_cell_that_does_not_answer_is_named(plane: ControlPlane, cell: CellConductor) -> None:
    """The others' migrations are listed all the same."""
    other = plane.add_cell("cell2")
    other.migrations = [a_migration(builders.a_uuid())]
    cell.error = RuntimeError("no")
    listed = plane.migrations.list_migrations(an_admin(), filters=MigrationFilters(), limit=9)
    assert (len(listed.migrations), listed.down_cells) == (1, ["cell1"])


def test_migrations_of_a_deleted_server_are_listed(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """As its actions are, to who could see it."""
    cell.migrations = [a_migration(uuid), a_migration(builders.a_uuid())]
    plane.delete(uuid)
    plane.settle()
    of_deleted = MigrationFilters(instance_uuid=uuid)
    with pytest.raises(exception.InstanceNotFound):
        plane.servers.get_server(an_admin(), uuid)
    listed = plane.migrations.list_migrations(an_admin(), filters=of_deleted, limit=9)
    assert [one.uuid for one in listed.migrations] == [cell.migrations[0].uuid]
    with pytest.raises(exception.InstanceNotFound):
        plane.migrations.list_migrations(a_user("p2"), filters=of_deleted, limit=9)


def test_migrations_of_a_server_in_a_silent_cell_are_not_said_to_be_none(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """No answer is not an empty one."""
    cell.error = exception.RpcTimeout(method="m", topic="cell_conductor", timeout_seconds=1)
    with pytest.raises(exception.CellUnavailable):
        plane.migrations.list_migrations(
            an_admin(), filters=MigrationFilters(instance_uuid=uuid), limit=9
        )


def test_a_migration_is_aborted_by_its_cell(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """Which knows whether it can be."""
    cell.migrations = [a_migration(uuid)]
    move = {"migration_uuid": cell.migrations[0].uuid}
    plane.migrations.force_migration(an_admin(), uuid, cell.migrations[0].uuid)
    plane.migrations.abort_migration(an_admin(), uuid, cell.migrations[0].uuid)
    assert cell.begun == [(uuid, "force", move), (uuid, "abort", move)]
    with pytest.raises(exception.MigrationNotFound):
        plane.migrations.abort_migration(an_admin(), uuid, builders.a_uuid())


# Changes


def test_a_change_goes_to_the_cell(plane: ControlPlane, cell: CellConductor) -> None:
    """Where its metadata are merged."""
    (uuid,) = plane.build(metadata={"a": "1"})
    changes = ServerChanges(metadata={"b": "2"}, settings={"description": "mine"})
    plane.operate(uuid, "update", changes=changes)
    found = cell.instances[uuid]
    assert found.metadata == {"a": "1", "b": "2"}
    assert found.settings is not None
    assert found.settings.description == "mine"


def test_a_locked_server_is_not_changed_by_its_user(plane: ControlPlane) -> None:
    """As with any other operation."""
    (uuid,) = plane.build()
    plane.operate(uuid, "lock")
    with pytest.raises(exception.InstanceLocked):
        plane.operate(uuid, "update", changes=ServerChanges(name="db"))
