"""Queries on moves: accepted moves whose cell has no selections yet."""

import dataclasses
from collections.abc import Collection
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary.context import RequestContext
from conductor.common.leases import Lease
from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import delete, from_row, update


@dataclasses.dataclass(frozen=True)
class MoveArguments:
    """What was asked of a move; ``new_flavor`` is in wire form, None if it does not change."""

    migration_type: str | None = None
    new_flavor: Any = None
    ignore_hosts: list[str] = dataclasses.field(default_factory=list)
    host: str | None = None
    is_cross_cell: bool = False
    stays_off: bool = False


@dataclasses.dataclass(frozen=True)
class Move:
    """A stored move."""

    migration_uuid: str
    instance_uuid: str
    cell_uuid: str
    operation: str
    arguments: MoveArguments
    context: RequestContext
    takes: int
    accepted_at: datetime


def add(session: Session, move: Move, lease: Lease) -> None:
    """Store a move under a lease. Raises DBDuplicateEntry if the instance is in another."""
    values = {field.name: getattr(move, field.name) for field in dataclasses.fields(move)}
    values["arguments"] = dataclasses.asdict(move.arguments)
    session.add(models.Move(**values, **lease.columns))
    session.flush()


def find(session: Session, migration_uuid: str) -> Move | None:
    """Return a move; None if it has ended."""
    row = session.get(models.Move, migration_uuid, populate_existing=True)
    if row is None:
        return None
    return from_row(Move, row, arguments=MoveArguments(**row.arguments))


def find_of(session: Session, instance_uuid: str) -> Move | None:
    """Return the move of an instance; None if it is in none."""
    query = sa.select(models.Move.migration_uuid).where(models.Move.instance_uuid == instance_uuid)
    found = session.scalar(query)
    return None if found is None else find(session, found)


def known(session: Session, migration_uuids: Collection[str]) -> set[str]:
    """Return those of these moves that are stored."""
    row = models.Move.migration_uuid
    return set(session.scalars(sa.select(row).where(row.in_(migration_uuids))))


def store_hosts(session: Session, migration_uuid: str, hosts: Collection[str]) -> None:
    """Store the hosts that were selected for a move."""
    update(session, models.Move, models.Move.migration_uuid == migration_uuid, hosts=sorted(hosts))


def instances_selected_for(session: Session, hosts: Collection[str]) -> dict[str, str]:
    """Return host -> an instance that may be moved there, as its cell does not know yet."""
    if not hosts:
        return {}
    found = session.execute(sa.select(models.Move.instance_uuid, models.Move.hosts))
    return {host: uuid for uuid, names in found for host in names or () if host in hosts}


def remove(session: Session, migration_uuid: str) -> None:
    """Delete a move that its cell has taken over, or that was undone."""
    delete(session, models.Move, models.Move.migration_uuid == migration_uuid)


def remove_of(session: Session, instance_uuids: Collection[str]) -> None:
    """Delete the moves of instances that are being deleted."""
    delete(session, models.Move, models.Move.instance_uuid.in_(instance_uuids))
