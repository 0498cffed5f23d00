"""Queries on deferred operations: accepted ones whose server's cell or zone is silent."""

import dataclasses
from collections.abc import Collection
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary.context import RequestContext
from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import delete, from_row

Row = models.DeferredOperation


@dataclasses.dataclass(frozen=True)
class Deferred:
    """A stored operation; ``arguments`` has the fields of ``OperationArguments`` that are set."""

    instance_uuid: str
    operation: str
    arguments: dict[str, Any]
    context: RequestContext
    accepted_at: datetime
    tries: int = 0


def put(session: Session, deferred: Deferred) -> None:
    """Store an operation, free to be leased immediately, in place of the instance's former one."""
    remove(session, deferred.instance_uuid)
    values = {field.name: getattr(deferred, field.name) for field in dataclasses.fields(deferred)}
    session.add(Row(**values, lease_expires_at=0.0))
    session.flush()


def find(session: Session, instance_uuid: str) -> Deferred | None:
    """Return the deferred operation of an instance, None if there is none."""
    return find_all(session, [instance_uuid]).get(instance_uuid)


def find_all(session: Session, instance_uuids: Collection[str]) -> dict[str, Deferred]:
    """Return instance -> deferred operation."""
    query = (
        sa.select(Row)
        .where(Row.instance_uuid.in_(instance_uuids))
        .execution_options(populate_existing=True)
    )
    return {row.instance_uuid: from_row(Deferred, row) for row in session.scalars(query)}


def remove(session: Session, instance_uuid: str, *, owner: str | None = None) -> None:
    """Delete the operation of an instance; with ``owner`` only if that lease still has it."""
    where = [Row.instance_uuid == instance_uuid]
    if owner is not None:
        where.append(Row.lease_owner == owner)
    delete(session, Row, *where)
