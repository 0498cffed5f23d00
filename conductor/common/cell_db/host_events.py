"""Queries on the history of hosts: changes of their services, and steps of operations there."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from conductor.common.cell_db import models
from objects.hosts.host_event import DETAILS_LENGTH_MAX, HostChange, HostEvent

REASON_LENGTH_MAX = models.NAME_LENGTH
_STEPS, _CHANGES = 0, 1
"""Source of an event; of the same moment, changes of the host are listed before steps."""
_MARKER = re.compile(r"(\d{1,17})-([01])-(\d{1,19})", re.ASCII)
_NUMBER_MAX = 2**63 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Place:
    """Place of an event in the order of a host's history."""

    at: datetime
    source: int
    number: int

    @classmethod
    def of(cls, marker: str) -> Place:
        """Return the place that a marker names. Raises Invalid."""
        found = _MARKER.fullmatch(marker)
        microseconds, source, number = map(int, found.groups()) if found else (0, 0, -1)
        if not 0 <= number <= _NUMBER_MAX:
            raise exception.Invalid(reason=f"{marker[:80]!r} is not a marker of a host's events")
        return cls(_EPOCH + microseconds * _MICROSECOND, source, number)

    def __str__(self) -> str:
        return f"{(self.at - _EPOCH) // _MICROSECOND}-{self.source}-{self.number}"


def record(
    session: Session,
    change: HostChange,
    hosts: Collection[str],
    *,
    now: datetime,
    context: RequestContext | None = None,
    reason: str | None = None,
) -> None:
    """Store a change of these hosts, in one statement; ``context`` is that of who asked for it."""
    asked = {} if context is None else {
        "request_id": context.request_id,
        "project_id": context.project_id,
        "user_id": context.user_id,
    }  # fmt: skip
    said = None if reason is None else reason[:REASON_LENGTH_MAX]
    values = [
        {"host": host, "event": change.value, "reason": said, "created_at": now, **asked}
        for host in hosts
    ]
    if values:
        session.execute(sa.insert(models.HostEvent), values)


def list_page(
    session: Session, host: str, *, limit: int, marker: str | None = None
) -> list[HostEvent]:
    """Return the events of a host, newest first, after the one of a marker. Raises Invalid.

    Each source is read by its index, at most ``limit`` rows of it.
    """
    last = None if marker is None else Place.of(marker)
    changes, steps = models.HostEvent, models.InstanceActionEvent
    of_host = (
        sa.select(changes)
        .where(changes.host == host, *_after(last, _CHANGES, changes.created_at, changes.id))
        .order_by(changes.created_at.desc(), changes.id.desc())
        .limit(limit)
    )
    of_servers = (
        sa.select(steps, models.InstanceAction, models.Instance.name)
        .join(models.InstanceAction, models.InstanceAction.uuid == steps.action_uuid)
        .outerjoin(models.Instance, models.Instance.uuid == models.InstanceAction.instance_uuid)
        .where(steps.host == host, *_after(last, _STEPS, steps.start_time, steps.id))
        .order_by(steps.start_time.desc(), steps.id.desc())
        .limit(limit)
    )
    found = [_of_change(row) for row in session.scalars(of_host)]
    found += [_of_step(*row) for row in session.execute(of_servers)]
    found.sort(key=lambda each: (each[0].at, each[0].source, each[0].number), reverse=True)
    return [event for _place, event in found[:limit]]


def purge(session: Session, *, before: datetime) -> None:
    """Delete the changes of hosts before a time; steps go with their servers."""
    session.execute(
        sa.delete(models.HostEvent)
        .where(models.HostEvent.created_at < before)
        .execution_options(synchronize_session=False)
    )


def _after(last: Place | None, source: int, at: Any, number: Any) -> list[sa.ColumnElement[bool]]:
    """Return the condition that a row of a source comes after a place, in descending order."""
    if last is None:
        return []
    if source != last.source:
        return [at <= last.at if source < last.source else at < last.at]
    return [(at < last.at) | ((at == last.at) & (number < last.number))]


def _of_change(row: models.HostEvent) -> tuple[Place, HostEvent]:
    place = Place(row.created_at, _CHANGES, row.id)
    event = HostEvent(
        str(place), row.created_at, row.event, row.created_at, details=row.reason,
        request_id=row.request_id, project_id=row.project_id, user_id=row.user_id,
    )  # fmt: skip
    return place, event


def _of_step(
    row: models.InstanceActionEvent, action: models.InstanceAction, name: str | None
) -> tuple[Place, HostEvent]:
    place = Place(row.start_time, _STEPS, row.id)
    event = HostEvent(
        str(place), row.start_time, row.event, row.finish_time, row.result,
        None if row.details is None else row.details[:DETAILS_LENGTH_MAX],
        action.action, action.instance_uuid, name, action.request_id, action.project_id,
        action.user_id,
    )  # fmt: skip
    return place, event
