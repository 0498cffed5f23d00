"""Note in a transaction what notifications tell of instances; they are sent once it is committed.

All operations store their beginning and their end in one place, ``cell_db.actions``, and their
failures in ``cell_db.faults``: what is told from there is told of every operation alike. Changes of
an instance's state are noticed where its row is written.
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
from armillary.notifications import Notifier
from armillary.notifications.notifier import START
from conductor.cell_db import models
from objects.instance_fault import InstanceFault

TOLD_AS = {
    "confirm_resize": "resize_confirm",
    "revert_resize": "resize_revert",
    "live_migrate": "live_migration",
    "start": "power_on",
    "stop": "power_off",
    "unshelve_here": "unshelve",
}
"""What operators know an action by in notifications, where that is another word than users have."""
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
"""Operation, what a host is told in it, and which one -> the step that is told of, too."""
SCHEDULED = {
    ("rebuild", "rebuild", "here"): "rebuild_scheduled",
    ("evacuate", "claim", "destination"): "rebuild_scheduled",
}
"""As above; told when it is known which host it is, and that host is about to be told."""
ABORT = "live_migration_abort"

_DELETE = "delete"
"""The action that a copy of an instance has, too; it is told of where the instance is."""
_FAULTS = "armillary_faults"
_CHANGED = "armillary_changed"


def started(
    session: Session, context: RequestContext, action: str, instances: Sequence[Any]
) -> None:
    """Tell that an action of these instances (objects or rows) begins; of copies nothing."""
    shown = [instance for instance in instances if not getattr(instance, "hidden", False)]

    def tell(notifier: Notifier) -> None:
        for instance in shown:
            notifier.instance_action(context, instance, TOLD_AS.get(action, action), "start")

    note(session, tell)


def step(
    session: Session,
    instance: models.Instance,
    stage: tuple[str, str, str],
    phase: str,
) -> None:
    """Tell that a host begins, ends or fails at a step of an operation, if that is told of.

    ``stage`` is a key of ``STEPS``, or of ``SCHEDULED``.
    """
    told = STEPS.get(stage)
    if told is not None:
        _step(session, instance, told, phase)
    scheduled = SCHEDULED.get(stage)
    if scheduled is not None and phase == START:
        _step(session, instance, scheduled, None)


def abort(session: Session, instance: models.Instance, phase: str) -> None:
    """Tell that somebody wants a live migration to end, that it did, or that it was too late."""
    _step(session, instance, ABORT, phase)


def _step(session: Session, instance: models.Instance, told: str, phase: str | None) -> None:
    note(session, lambda notifier: notifier.instance_action(None, instance, told, phase))


def finished(
    session: Session, instance_uuids: Collection[str], action: str, *, has_failed: bool
) -> None:
    """Tell that an action of these instances, whose rows the session holds, has ended."""
    keys = [identity_key(models.Instance, uuid) for uuid in instance_uuids]
    found = map(session.identity_map.get, keys)
    rows = [row for row in found if row is not None and (not row.hidden or action != _DELETE)]
    told = TOLD_AS.get(action, action)
    faults: dict[str, InstanceFault] = session.info.get(_FAULTS, {})

    def tell(notifier: Notifier) -> None:
        for row in rows:
            if has_failed:
                notifier.instance_action(None, row, told, "error", faults.get(row.uuid))
            else:
                notifier.instance_action(None, row, told, "end")

    if rows:
        note(session, tell)


def failed(session: Session, fault: InstanceFault) -> None:
    """Tell that an attempt failed on its host; the reason goes with the end of its action, too."""
    session.info.setdefault(_FAULTS, {})[fault.instance_uuid] = fault
    if fault.host is None:
        return

    def tell(notifier: Notifier) -> None:
        notifier.compute_exception(None, fault.host, fault, instance_uuid=fault.instance_uuid)

    note(session, tell)


def watch_states() -> None:
    """Notice changes of instances' states in all sessions. Idempotent."""
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
    """Tell that the states of an instance changed, once in a transaction.

    For changes that are not written by way of the row: all others are noticed.
    """
    seen: set[str] = session.info.setdefault(_CHANGED, set())
    if row.hidden or row.uuid in seen:  # what is told of a copy is told where the instance is
        return
    seen.add(row.uuid)

    def tell(notifier: Notifier) -> None:
        notifier.instance_update(None, row, old_state=old_state, old_task_state=old_task_state)

    note(session, tell)
