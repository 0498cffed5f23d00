"""Copies: instances of another cell while they move between that cell and this one.

A copy is hidden and has no host. Its migration tells this cell's agents to keep what they have of
the instance. It is created by the other cell's first command, becomes the instance if that cell
hands it over, and ends as a tombstone: a row that is deleted and hidden. A migration that has ended
is never started again.
"""

import dataclasses
import uuid
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from conductor.common.cell_db import (
    actions,
    deletes,
    faults,
    host_seq,
    instances,
    migrations,
    models,
    services,
)
from conductor.common.cell_db.stored_object import StoredObject
from objects.instances.instance_action import InstanceAction
from objects.instances.migration import ENDED, MigrationStatus
from objects.instances.server_record import ServerRecord

_ENDS_AS = {
    MigrationStatus.CONFIRMING: MigrationStatus.CONFIRMED,
    MigrationStatus.REVERTING: MigrationStatus.REVERTED,
}
"""Migration status when a copy was last updated -> status at its end."""
_OF_FAULT = ("instance_uuid", "attempt", "host", "code", "message", "details")
_OF_ACTION = ("instance_uuid", "action", "request_id", "project_id", "user_id", "message")
_OF_EVENT = ("event", "host", "attempt", "finish_time", "result", "details")
_OF_MIGRATION = ("status", "source_host", "source_node", "dest_host", "dest_node")


@dataclasses.dataclass(frozen=True)
class UnchangedCopy:
    """A copy that has not changed for some time, and its migration."""

    instance_uuid: str
    migration_uuid: str
    updated_at: datetime | None


def keep(session: Session, record: ServerRecord, *, now: datetime) -> None:
    """Create or update a copy.

    Raises Conflict if the move has ended here, if the instance itself is here (and has yet to be
    handed over), or if it was deleted here.
    """
    row = instances.lock(session, record.instance.uuid)
    move = migrations.find(session, record.migration.uuid)
    if move is not None and move.status in ENDED:
        raise _conflict(record, f"it is {move.status} here")
    if row is not None and not row.hidden:
        raise _conflict(record, f"the instance is {row.vm_state} here, {row.task_state}")
    if row is not None and deletes.lock(session, row.uuid) is not None:
        raise _conflict(record, "the instance is being deleted here")
    _write(session, row, record, now=now, hidden=True)
    _keep_migration(session, move, record, now=now)


def take_over(session: Session, record: ServerRecord, *, now: datetime) -> None:
    """Turn a copy into the instance, with its history so far; idempotent.

    Raises Conflict if there is no copy for this move.
    """
    row = instances.lock(session, record.instance.uuid)
    move = migrations.find(session, record.migration.uuid)
    if row is None or move is None:
        raise _conflict(record, "there is no copy of it here")
    if not row.hidden and row.deleted_at is None:
        return
    is_gone = row.deleted_at is not None or deletes.lock(session, row.uuid) is not None
    if is_gone or move.status in ENDED:
        raise _conflict(record, f"it has ended in this cell ({move.status})")
    _write(session, row, record, now=now, hidden=False)
    _keep_migration(session, move, record, now=now)
    _take_history(session, record, now=now)
    host_seq.touch_hosts(session, [row.host])


def drop(session: Session, instance_uuid: str, migration_uuid: str, *, now: datetime) -> None:
    """End a move here; delete the copy unless it is in another move by now. Idempotent."""
    row = instances.lock(session, instance_uuid)
    move = migrations.find(session, migration_uuid)
    if row is None:
        return
    if row.hidden and move is not None and move.status not in ENDED:
        status = MigrationStatus(move.status)
        move.status, move.updated_at = _ENDS_AS.get(status, MigrationStatus.ERROR), now
    if row.hidden and not migrations.find_unfinished(session, [instance_uuid]):
        leave_tombstone(row, now=now)


def leave_tombstone(row: models.Instance, *, now: datetime) -> None:
    """Leave a tombstone of an instance that is in another cell."""
    row.hidden = True
    row.host = row.node = row.task_state = row.power_state = None
    if row.deleted_at is None:
        row.vm_state, row.deleted_at, row.updated_at = "deleted", now, now


def move_of(session: Session, instance_uuid: str, agent: str, host: str) -> str | None:
    """Return the migration of a copy that involves an agent's host."""
    row = instances.lock(session, instance_uuid)
    if row is None or not row.hidden or row.deleted_at is not None:
        return None
    if not services.belongs_to_agent(session, host, agent):
        return None
    for move in migrations.find_unfinished(session, [instance_uuid]):
        if host in (move.source_host, move.dest_host):
            return move.uuid
    return None


def list_unchanged(
    session: Session, *, after: datetime | None, before: datetime, limit: int
) -> list[UnchangedCopy]:
    """Return copies unchanged between two times with their moves, oldest first."""
    row, move = models.Instance, models.Migration
    query = (
        sa.select(row.uuid, move.uuid, row.updated_at)
        .join(move, move.instance_uuid == row.uuid)
        .where(
            row.hidden.is_(True),
            row.deleted_at.is_(None),
            row.updated_at < before,
            move.status.not_in(sorted(ENDED)),
        )
        .order_by(row.updated_at, row.uuid)
        .limit(limit)
    )
    if after is not None:
        query = query.where(row.updated_at > after)
    return [UnchangedCopy(found[0], found[1], found[2]) for found in session.execute(query)]


def _write(
    session: Session,
    row: models.Instance | None,
    record: ServerRecord,
    *,
    now: datetime,
    hidden: bool,
) -> None:
    """Write a row with the other cell's values; a hidden one has no host, the instance no task."""
    without = {"host": None, "node": None} if hidden else {"task_state": None}
    values = {
        **instances.values_of(record.instance, now),
        **without,
        "hidden": hidden,
        "commands_total": record.commands_total,
        "migration_payload": None,
        "deleted_at": None,
        "updated_at": now,
    }
    if row is None:
        session.add(models.Instance(**values))
        session.flush()
        return
    for name, value in values.items():
        setattr(row, name, value)


def _keep_migration(
    session: Session, row: models.Migration | None, record: ServerRecord, *, now: datetime
) -> None:
    move = record.migration
    if row is None:
        row = models.Migration(
            uuid=move.uuid,
            instance_uuid=move.instance_uuid,
            migration_type=move.migration_type,
            old_flavor=None if move.old_flavor is None else StoredObject.of(move.old_flavor),
            new_flavor=None if move.new_flavor is None else StoredObject.of(move.new_flavor),
            request_id=move.request_id,
            project_id=move.project_id,
            user_id=move.user_id,
            created_at=move.created_at or now,
        )
        session.add(row)
    for name in _OF_MIGRATION:
        setattr(row, name, getattr(move, name))
    row.flow_state = record.flow_state
    row.updated_at = now
    session.flush()


def _take_history(session: Session, record: ServerRecord, *, now: datetime) -> None:
    """Replace the history of an earlier stay by the one received."""
    instance_uuid = record.instance.uuid
    actions.remove(session, [instance_uuid])
    faults.remove(session, [instance_uuid])
    for action in reversed(record.actions):
        _take_action(session, action, now=now)
    rows = [
        {
            **{name: getattr(fault, name) for name in _OF_FAULT},
            "created_at": fault.created_at or now,
        }
        for fault in record.faults
    ]
    if rows:  # the cell where they occurred has notified of them
        session.execute(sa.insert(models.InstanceFault), rows)


def _take_action(session: Session, action: InstanceAction, *, now: datetime) -> None:
    key = str(uuid.uuid4())
    session.add(
        models.InstanceAction(
            uuid=key,
            start_time=action.start_time or now,
            finish_time=action.finish_time or now,  # the handover ends it
            **{name: getattr(action, name) for name in _OF_ACTION},
        )
    )
    session.flush()
    rows = [
        {
            **{name: getattr(event, name) for name in _OF_EVENT},
            "action_uuid": key,
            "start_time": event.start_time or now,
        }
        for event in action.events
    ]
    if rows:
        session.execute(sa.insert(models.InstanceActionEvent), rows)


def _conflict(record: ServerRecord, reason: str) -> exception.Conflict:
    return exception.Conflict(
        reason=f"instance {record.instance.uuid}, migration {record.migration.uuid}: {reason}"
    )
