"""Note in a transaction what notifications tell of instances; they are sent once it is committed.

All operations store their beginning and their end in one place, ``cell_db.actions``, and their
failures in ``cell_db.faults``: what is told from there is told of every operation alike. Changes of
an instance's state are noticed where its row is written.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.orm import Session, object_session
from sqlalchemy.orm.util import identity_key

from armillary.context import RequestContext
from armillary.db.database import note
from armillary.notifications import Notifier
from conductor.cell_db import models
from objects.instance_fault import InstanceFault

_FAULTS = "armillary_faults"
_CHANGED = "armillary_changed"


def started(
    session: Session, context: RequestContext, action: str, instances: Sequence[Any]
) -> None:
    """Tell that an action of these instances (objects or rows) begins."""

    def tell(notifier: Notifier) -> None:
        for instance in instances:
            notifier.instance_action(context, instance, action, "start")

    note(session, tell)


def finished(
    session: Session, instance_uuids: Collection[str], action: str, *, has_failed: bool
) -> None:
    """Tell that an action of these instances, whose rows the session holds, has ended."""
    keys = [identity_key(models.Instance, uuid) for uuid in instance_uuids]
    rows = [row for row in map(session.identity_map.get, keys) if row is not None]
    faults: dict[str, InstanceFault] = session.info.get(_FAULTS, {})

    def tell(notifier: Notifier) -> None:
        for row in rows:
            if has_failed:
                notifier.instance_action(None, row, action, "error", faults.get(row.uuid))
            else:
                notifier.instance_action(None, row, action, "end")

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
    seen: set[str] = session.info.setdefault(_CHANGED, set())
    attributes = sa.inspect(row).attrs
    was = {name: attributes[name].history.deleted for name in ("vm_state", "task_state")}
    if row.uuid in seen or not any(was.values()):
        return
    seen.add(row.uuid)
    old_state = was["vm_state"][0] if was["vm_state"] else row.vm_state
    old_task_state = was["task_state"][0] if was["task_state"] else row.task_state

    def tell(notifier: Notifier) -> None:
        notifier.instance_update(None, row, old_state=old_state, old_task_state=old_task_state)

    note(session, tell)
