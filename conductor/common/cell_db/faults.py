"""Queries on faults: one for each failed attempt; attempt 0 stands for the whole request."""

from collections.abc import Collection, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary.names.storable_text import storable
from conductor.common.cell_db import models, notify
from objects.instances.instance_fault import FAILED, InstanceFault

CODE_MAX = 999
MESSAGE_LENGTH_MAX = 255
DETAILS_LENGTH_MAX = 15_000


def record(session: Session, fault: InstanceFault, *, now: datetime) -> bool:
    """Store a fault; return False without change if this attempt of the instance has one.

    Long texts are truncated. ``created_at`` is ``now``.
    """
    if exists(session, fault.instance_uuid, fault.attempt):
        return False
    add(session, [fault], now=now)
    return True


def add(session: Session, faults: Sequence[InstanceFault], *, now: datetime) -> None:
    """Store faults of attempts that have none, in one statement; else like :func:`record`.

    Agents tell them: what no column stores would keep an operation from ending.
    """
    values = [
        {
            "instance_uuid": fault.instance_uuid,
            "attempt": fault.attempt,
            "host": _stored(fault.host, models.NAME_LENGTH),
            "code": fault.code if 0 <= fault.code <= CODE_MAX else FAILED,
            "message": _stored(fault.message, MESSAGE_LENGTH_MAX),
            "details": _stored(fault.details, DETAILS_LENGTH_MAX),
            "created_at": now,
        }
        for fault in faults
    ]
    if values:
        session.execute(sa.insert(models.InstanceFault), values)
        for fault in faults:
            notify.failed(session, fault)


def replace(session: Session, fault: InstanceFault, *, now: datetime) -> None:
    """Store a fault in place of earlier ones of the instance with its code."""
    session.execute(
        sa.delete(models.InstanceFault).where(
            models.InstanceFault.instance_uuid == fault.instance_uuid,
            models.InstanceFault.code == fault.code,
        )
    )
    add(session, [fault], now=now)


def exists(session: Session, instance_uuid: str, attempt: int, *, host: str | None = None) -> bool:
    """Return whether this attempt (on this host) failed."""
    query = sa.select(models.InstanceFault.id).where(
        models.InstanceFault.instance_uuid == instance_uuid, models.InstanceFault.attempt == attempt
    )
    if host is not None:
        query = query.where(models.InstanceFault.host == host)
    return session.scalar(query) is not None


def list_of(session: Session, instance_uuid: str) -> list[InstanceFault]:
    """Return the faults of an instance, oldest first; empty if it is unknown."""
    query = (
        sa.select(models.InstanceFault)
        .where(models.InstanceFault.instance_uuid == instance_uuid)
        .order_by(models.InstanceFault.id)
    )
    return [_to_object(row) for row in session.scalars(query)]


def latest(session: Session, instance_uuids: Collection[str]) -> dict[str, InstanceFault]:
    """Return instance -> its latest fault, for those that have one; one statement."""
    if not instance_uuids:
        return {}
    last = (
        sa.select(sa.func.max(models.InstanceFault.id))
        .where(models.InstanceFault.instance_uuid.in_(instance_uuids))
        .group_by(models.InstanceFault.instance_uuid)
    )
    query = sa.select(models.InstanceFault).where(models.InstanceFault.id.in_(last))
    return {row.instance_uuid: _to_object(row) for row in session.scalars(query)}


def remove(session: Session, instance_uuids: Collection[str]) -> None:
    session.execute(
        sa.delete(models.InstanceFault).where(
            models.InstanceFault.instance_uuid.in_(instance_uuids)
        )
    )


def _to_object(row: models.InstanceFault) -> InstanceFault:
    return InstanceFault.from_values({name: getattr(row, name) for name in InstanceFault.fields})


def _stored(text: str | None, length_max: int) -> str | None:
    return None if text is None else storable(text[:length_max])
