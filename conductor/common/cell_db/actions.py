"""Queries on instance actions and their events: requested actions, and their steps."""

import uuid
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary.context import RequestContext, admin_context
from armillary.names.storable_text import storable
from conductor.common.cell_db import models, notify
from objects.instance import Instance
from objects.instances.instance_action import InstanceAction, InstanceActionEvent

CREATE = "create"
DELETE = "delete"

ACCEPT_EVENT = "conductor_accept"
SCHEDULE_EVENT = "conductor_schedule_instances"
BUILD_EVENT = "compute_build_instance"
CLAIM_EVENT = "conductor_claim_alternate"
DELETE_EVENT = "compute_delete_instance"
LOCAL_DELETE_EVENT = "conductor_local_delete"

SUCCESS = "Success"
ERROR = "Error"
FAILED = "Error"
"""Message of a failed action; details that are not for users are in the events."""

DETAILS_LENGTH_MAX = 15_000


def start(
    session: Session,
    context: RequestContext,
    action: str,
    instances: Sequence[Instance],
    *,
    now: datetime,
) -> dict[str, str]:
    """Store the start of an action of new instances, in one statement; return instance -> key.

    The keys are for :func:`start_events`. The instances must not have this action yet.
    """
    keys = {instance.uuid: str(uuid.uuid4()) for instance in instances}
    values = [
        {
            "uuid": keys[instance.uuid],
            "instance_uuid": instance.uuid,
            "action": action,
            "request_id": instance.request_id or context.request_id,
            "project_id": instance.project_id,
            "user_id": instance.user_id,
            "start_time": now,
        }
        for instance in instances
    ]
    if values:
        session.execute(sa.insert(models.InstanceAction), values)
        _notify_started(session, context, action, instances)
    return keys


def _notify_started(
    session: Session, context: RequestContext, action: str, instances: Sequence[Instance]
) -> None:
    """Notify of new instances, each under the request that asked for it."""
    by_request: dict[str | None, list[Instance]] = {}
    for instance in instances:
        by_request.setdefault(instance.request_id or context.request_id, []).append(instance)
    for request_id, asked in by_request.items():
        is_callers = request_id == context.request_id
        notify.started(session, context if is_callers else admin_context(request_id), action, asked)


def start_for_row(
    session: Session,
    context: RequestContext,
    action: str,
    instance: models.Instance,
    *,
    now: datetime,
) -> None:
    """Store the start of an action of a stored instance; idempotent per request."""
    asked = {"instance": instance.uuid, "named": action, "request": context.request_id}
    if session.scalar(_ASKED, asked) is not None:
        return
    session.add(
        models.InstanceAction(
            uuid=str(uuid.uuid4()),
            instance_uuid=instance.uuid,
            action=action,
            request_id=context.request_id,
            project_id=context.project_id or instance.project_id,
            user_id=context.user_id or instance.user_id,
            start_time=now,
        )
    )
    session.flush()
    notify.started(session, context, action, [instance])


def is_known(session: Session, instance_uuid: str, action: str, request_id: str | None) -> bool:
    """Return whether a request's action has started."""
    asked = {"instance": instance_uuid, "named": action, "request": request_id}
    return session.scalar(_ASKED, asked) is not None


def record_refused(
    session: Session,
    context: RequestContext,
    action: str,
    instance: models.Instance,
    reason: str,
    *,
    now: datetime,
) -> None:
    """Store an action that has failed, with the reason in its event.

    Other unfinished actions of this name are left alone.
    """
    start_for_row(session, context, action, instance, now=now)
    finish_event(
        session, instance.uuid, action, ACCEPT_EVENT,
        host=None, result=ERROR, details=reason, now=now,
    )  # fmt: skip
    asked = models.InstanceAction.request_id.is_not_distinct_from(context.request_id)
    session.execute(
        sa.update(models.InstanceAction)
        .where(
            models.InstanceAction.instance_uuid == instance.uuid,
            models.InstanceAction.action == action,
            asked,
        )
        .values(finish_time=now, message=FAILED)
    )
    notify.finished(session, [instance.uuid], action, has_failed=True)


def is_over(session: Session, instance_uuid: str, action: str, request_id: str | None) -> bool:
    """Return whether a request's action has ended."""
    asked = {"instance": instance_uuid, "named": action, "request": request_id}
    return session.scalar(_IS_OVER, asked) is not None


def finish(
    session: Session, instance_uuid: str, action: str, *, message: str | None, now: datetime
) -> None:
    """Store the end of an instance's unfinished actions of this name."""
    finish_all(session, [instance_uuid], action, message=message, now=now)


def finish_all(
    session: Session,
    instance_uuids: Collection[str],
    action: str,
    *,
    message: str | None,
    now: datetime,
) -> None:
    """Store the end of unfinished actions of many instances, in one statement."""
    ended: sa.CursorResult[Any] = session.execute(  # type: ignore[assignment]
        sa.update(models.InstanceAction)
        .where(
            models.InstanceAction.instance_uuid.in_(instance_uuids),
            models.InstanceAction.action == action,
            models.InstanceAction.finish_time.is_(None),
        )
        .values(finish_time=now, message=message)
    )
    if ended.rowcount:
        notify.finished(session, instance_uuids, action, has_failed=message is not None)


def start_events(
    session: Session, event: str, steps: Sequence[tuple[str, str | None, int]], *, now: datetime
) -> None:
    """Store the start of an event for each (action key, host, attempt), in one statement."""
    values = [
        {"action_uuid": key, "event": event, "host": host, "attempt": attempt, "start_time": now}
        for key, host, attempt in steps
    ]
    if values:
        session.execute(sa.insert(models.InstanceActionEvent), values)


def start_event(
    session: Session,
    instance_uuid: str,
    action: str,
    event: str,
    *,
    host: str | None,
    attempt: int = 0,
    now: datetime,
) -> None:
    """Store the start of an event of the newest action of this name; idempotent."""
    key = _key(session, instance_uuid, action)
    if key is not None:
        _start_event(session, key, event, host, attempt, now=now)


def _start_event(
    session: Session, key: str, event: str, host: str | None, attempt: int, *, now: datetime
) -> models.InstanceActionEvent | None:
    """Start an event; return it if it was started before."""
    found = _find_event(session, key, event, host, attempt)
    if found is None:
        start_events(session, event, [(key, host, attempt)], now=now)
    return found


def finish_event(
    session: Session,
    instance_uuid: str,
    action: str,
    event: str,
    *,
    host: str | None,
    attempt: int = 0,
    result: str,
    details: str | None = None,
    now: datetime,
) -> None:
    """Store the end of an event, and its start if that is missing."""
    key = _key(session, instance_uuid, action)
    if key is None:
        return
    found = _start_event(session, key, event, host, attempt, now=now)
    found = found or _find_event(session, key, event, host, attempt)
    if found is None or found.finish_time is not None:
        return
    found.finish_time = now
    found.result = result
    found.details = _cut(details)
    session.flush()


def finish_event_of_all(
    session: Session,
    action: str,
    event: str,
    steps: Sequence[tuple[str, str | None, int]],
    *,
    result: str,
    now: datetime,
) -> None:
    """Store the end of an event for each (instance, host, attempt), in three statements.

    Like :func:`finish_event` without details, for steps whose start is usually stored.
    """
    keys = _newest_keys(session, [instance_uuid for instance_uuid, *_ in steps], action)
    found = _event_ids(session, event, list(keys.values()))
    ended = [
        found.get((keys.get(instance_uuid), host, attempt))
        for instance_uuid, host, attempt in steps
    ]
    session.execute(
        sa.update(models.InstanceActionEvent)
        .where(
            models.InstanceActionEvent.id.in_([id_ for id_ in ended if id_ is not None]),
            models.InstanceActionEvent.finish_time.is_(None),
        )
        .values(finish_time=now, result=result)
        .execution_options(synchronize_session=False)
    )
    unknown = [step for step, id_ in zip(steps, ended, strict=True) if id_ is None]
    for instance_uuid, host, attempt in unknown:
        finish_event(
            session, instance_uuid, action, event, host=host, attempt=attempt, result=result,
            now=now,
        )  # fmt: skip


def finish_events(
    session: Session, keys: Collection[str], result: str, *, details: str | None, now: datetime
) -> None:
    """Store the end of all unfinished events of these actions, in one statement."""
    session.execute(
        sa.update(models.InstanceActionEvent)
        .where(
            models.InstanceActionEvent.action_uuid.in_(keys),
            models.InstanceActionEvent.finish_time.is_(None),
        )
        .values(finish_time=now, result=result, details=_cut(details))
        .execution_options(synchronize_session=False)
    )


def list_of(session: Session, instance_uuid: str) -> list[InstanceAction]:
    """Return the actions of an instance with events, newest first; empty if unknown."""
    rows = session.scalars(
        sa.select(models.InstanceAction)
        .where(models.InstanceAction.instance_uuid == instance_uuid)
        .order_by(models.InstanceAction.id.desc())
    ).all()
    events = session.scalars(
        sa.select(models.InstanceActionEvent)
        .where(models.InstanceActionEvent.action_uuid.in_([row.uuid for row in rows]))
        .order_by(models.InstanceActionEvent.id)
    ).all()
    return [
        InstanceAction.from_values(
            {name: getattr(row, name) for name in InstanceAction.fields if name != "events"},
            events=[_event_to_object(event) for event in events if event.action_uuid == row.uuid],
        )
        for row in rows
    ]


def remove(session: Session, instance_uuids: Collection[str]) -> None:
    """Remove all actions of these instances, with their events."""
    session.execute(
        sa.delete(models.InstanceAction).where(
            models.InstanceAction.instance_uuid.in_(instance_uuids)
        )
    )


def _cut(details: str | None) -> str | None:
    return None if details is None else storable(details[:DETAILS_LENGTH_MAX])


def _key(session: Session, instance_uuid: str, action: str) -> str | None:
    return session.scalar(_KEY, {"instance": instance_uuid, "named": action})


def _newest_keys(session: Session, instance_uuids: Collection[str], action: str) -> dict[str, str]:
    """Return instance -> key of its newest action of this name."""
    columns = models.InstanceAction
    query = (
        sa.select(columns.instance_uuid, columns.uuid)
        .where(columns.instance_uuid.in_(instance_uuids), columns.action == action)
        .order_by(columns.id)
    )
    return {row.instance_uuid: row.uuid for row in session.execute(query)}


def _event_ids(
    session: Session, event: str, keys: Collection[str]
) -> dict[tuple[str | None, str | None, int], int]:
    """Return (action key, host, attempt) -> id of the events of this name."""
    columns = models.InstanceActionEvent
    query = sa.select(columns.action_uuid, columns.host, columns.attempt, columns.id).where(
        columns.action_uuid.in_(keys), columns.event == event
    )
    return {(key, host, attempt): id_ for key, host, attempt, id_ in session.execute(query)}


def _find_event(
    session: Session, key: str, event: str, host: str | None, attempt: int
) -> models.InstanceActionEvent | None:
    values = {"key": key, "named": event, "attempt": attempt}
    if host is None:
        return session.scalars(_EVENT_NOWHERE, values).first()
    return session.scalars(_EVENT_AT_HOST, {**values, "host": host}).first()


def _event_to_object(row: models.InstanceActionEvent) -> InstanceActionEvent:
    return InstanceActionEvent.from_values(
        {name: getattr(row, name) for name in InstanceActionEvent.fields}
    )


# Frequent queries, built once: building costs more than executing. --------------------------------

_ACTION, _EVENT = models.InstanceAction, models.InstanceActionEvent
_IS_NAMED = sa.and_(
    _ACTION.instance_uuid == sa.bindparam("instance"), _ACTION.action == sa.bindparam("named")
)
_KEY = sa.select(_ACTION.uuid).where(_IS_NAMED).order_by(_ACTION.id.desc()).limit(1)
_ASKED = sa.select(_ACTION.id).where(
    _IS_NAMED, _ACTION.request_id.is_not_distinct_from(sa.bindparam("request"))
)
_IS_OVER = _ASKED.where(_ACTION.finish_time.is_not(None)).limit(1)
_EVENTS = sa.select(_EVENT).where(
    _EVENT.action_uuid == sa.bindparam("key"),
    _EVENT.event == sa.bindparam("named"),
    _EVENT.attempt == sa.bindparam("attempt"),
)
_EVENT_NOWHERE = _EVENTS.where(_EVENT.host.is_(None))
_EVENT_AT_HOST = _EVENTS.where(_EVENT.host == sa.bindparam("host"))
