"""Queue notifications about instances in a transaction; they are sent after its commit.

All operations store their start and end through ``cell_db.actions`` and their failures through
``cell_db.faults``, so notifications from there cover every operation. State changes are detected
where an instance's row is written.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import event
from sqlalchemy.orm import Session, object_session
from sqlalchemy.orm.attributes import get_history
from sqlalchemy.orm.util import identity_key

from armillary.context import RequestContext
from armillary.db.database import note
from conductor.common.cell_db import models
from objects.instances.instance_fault import InstanceFault
from rpc.notifications import Notifier
from rpc.notifications.notifier import START

NOTIFICATION_NAMES = {
    "confirm_resize": "resize_confirm",
    "revert_resize": "resize_revert",
    "backup": "snapshot",
    "live_migrate": "live_migration",
    "start": "power_on",
    "stop": "power_off",
    "unshelve_here": "unshelve",
}
"""Action -> its name in notifications, where that differs from the API's name."""
STEPS = {
    ("resize", "claim", "destination"): "resize_prep",
    ("migrate", "claim", "destination"): "resize_prep",
    ("resize", "attach", "destination"): "resize_finish",
    ("migrate", "attach", "destination"): "resize_finish",
    ("live_migrate", "prepare_live", "destination"): "live_migration_pre",
    ("live_migrate", "complete_live", "destination"): "live_migration_post_dest",
    ("live_migrate", "drop", "source"): "live_migration_post",
    ("live_migrate", "drop", "destination"): "live_migration_rollback_dest",
}
"""Operation, verb of the command and side -> the step that is notified, too."""
SCHEDULED = {
    ("rebuild", "rebuild", "here"): "rebuild_scheduled",
    ("evacuate", "claim", "destination"): "rebuild_scheduled",
}
"""As ``STEPS``; notified once the host is known, before the command is sent to it."""
ABORT = "live_migration_abort"

_DELETE = "delete"
"""The action that a copy has, too; only the cell that has the instance notifies of it."""
_FAULTS = "armillary_faults"
_CHANGED = "armillary_changed"


def started(
    session: Session, context: RequestContext, action: str, instances: Sequence[Any]
) -> None:
    """Notify that an action of these instances (objects or rows) starts; copies are skipped."""
    shown = [instance for instance in instances if not getattr(instance, "hidden", False)]

    def send(notifier: Notifier) -> None:
        for instance in shown:
            notifier.instance_action(
                context, instance, NOTIFICATION_NAMES.get(action, action), "start"
            )

    note(session, send)


def step(
    session: Session, instance: models.Instance, stage: tuple[str, str, str], phase: str
) -> None:
    """Notify that a host starts, ends or fails a step of an operation, if the step is notified.

    ``stage`` is a key of ``STEPS`` or of ``SCHEDULED``.
    """
    name = STEPS.get(stage)
    if name is not None:
        _step(session, instance, name, phase)
    scheduled = SCHEDULED.get(stage)
    if scheduled is not None and phase == START:
        _step(session, instance, scheduled, None)


def abort(session: Session, instance: models.Instance, phase: str) -> None:
    """Notify that an abort of a live migration was requested, succeeded, or came too late."""
    _step(session, instance, ABORT, phase)


def _step(session: Session, instance: models.Instance, name: str, phase: str | None) -> None:
    note(session, lambda notifier: notifier.instance_action(None, instance, name, phase))


def finished(
    session: Session, instance_uuids: Collection[str], action: str, *, has_failed: bool
) -> None:
    """Notify that an action of these instances has ended; the session holds their rows."""
    keys = [identity_key(models.Instance, uuid) for uuid in instance_uuids]
    found = map(session.identity_map.get, keys)
    rows = [row for row in found if row is not None and (not row.hidden or action != _DELETE)]
    name = NOTIFICATION_NAMES.get(action, action)
    faults: dict[str, InstanceFault] = session.info.get(_FAULTS, {})

    def send(notifier: Notifier) -> None:
        for row in rows:
            if has_failed:
                notifier.instance_action(None, row, name, "error", faults.get(row.uuid))
            else:
                notifier.instance_action(None, row, name, "end")

    if rows:
        note(session, send)


def failed(session: Session, fault: InstanceFault) -> None:
    """Notify that an attempt failed on its host; the action's end has the reason, too."""
    session.info.setdefault(_FAULTS, {})[fault.instance_uuid] = fault
    if fault.host is None:
        return

    def send(notifier: Notifier) -> None:
        notifier.compute_exception(None, fault.host, fault, instance_uuid=fault.instance_uuid)

    note(session, send)


def listen_for_state_changes() -> None:
    """Detect state changes of instances in all sessions. Idempotent."""
    if not event.contains(models.Instance, "after_update", _note_update):
        event.listen(models.Instance, "after_update", _note_update)


def _note_update(_mapper: Any, _connection: Any, row: models.Instance) -> None:
    session = object_session(row)
    if session is None:
        return
    was = {name: get_history(row, name).deleted for name in ("vm_state", "task_state")}
    if any(was.values()):
        changed(
            session,
            row,
            old_state=was["vm_state"][0] if was["vm_state"] else row.vm_state,
            old_task_state=was["task_state"][0] if was["task_state"] else row.task_state,
        )


def changed(
    session: Session, row: models.Instance, *, old_state: str, old_task_state: str | None
) -> None:
    """Notify that the states of an instance changed, once per transaction.

    For bulk updates that bypass the row; all other changes are detected.
    """
    seen: set[str] = session.info.setdefault(_CHANGED, set())
    if row.hidden or row.uuid in seen:  # the cell that has the instance notifies, not its copy's
        return
    seen.add(row.uuid)

    def send(notifier: Notifier) -> None:
        notifier.instance_update(None, row, old_state=old_state, old_task_state=old_task_state)

    note(session, send)
