"""Reads of consumers' allocations: by consumer, provider and project, and page by page."""

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import CursorResult, Select, bindparam, delete, func, select
from sqlalchemy.orm import Session

from placement.db.models import Allocation, Consumer, ConsumerFence, ResourceClass, ResourceProvider
from placement.db.statements import AnyRow, any_of, rows_in
from placement.ledger.group_places import GroupPlace, place_from

_AnySelect = Select[*tuple[Any, ...]]

_HELD = (
    select(
        Consumer.uuid,
        Consumer.generation,
        Consumer.consumer_type,
        Consumer.project_id,
        Consumer.user_id,
        Consumer.updated_at,
        ResourceProvider.uuid.label("provider_uuid"),
        ResourceProvider.name.label("provider_name"),
        ResourceProvider.generation.label("provider_generation"),
        ResourceClass.name.label("resource_class"),
        Allocation.amount,
    )
    .join(Allocation, Allocation.consumer_uuid == Consumer.uuid)
    .join(ResourceProvider, ResourceProvider.id == Allocation.resource_provider_id)
    .join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
)
_HELD_BY = _HELD.where(Consumer.uuid.in_(any_of()))
_HELD_OF = (
    select(
        ResourceProvider.generation.label("provider_generation"),
        Consumer.uuid,
        Consumer.generation,
        Consumer.updated_at,
        ResourceClass.name.label("resource_class"),
        Allocation.amount,
    )
    .outerjoin(Allocation, Allocation.resource_provider_id == ResourceProvider.id)
    .outerjoin(Consumer, Consumer.uuid == Allocation.consumer_uuid)
    .outerjoin(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
)
_HELD_OF_MANY = _HELD.where(ResourceProvider.uuid.in_(any_of())).order_by(
    ResourceProvider.uuid, Consumer.uuid, ResourceClass.name
)

_IN_GROUP = select(Consumer.group_place).where(
    Consumer.group_uuid == bindparam("group_uuid"), Consumer.group_place.is_not(None)
)
_MOVING = select(
    ConsumerFence.consumer_uuid, ConsumerFence.cell_uuid, ConsumerFence.other_cell_uuid
).where(ConsumerFence.consumer_uuid.in_(any_of()), ConsumerFence.other_cell_uuid.is_not(None))

_COUNT_OF_PROVIDER = select(func.count(Allocation.consumer_uuid.distinct())).where(
    Allocation.resource_provider_id == bindparam("provider_id")
)


@dataclass(frozen=True)
class Whose:
    """The consumers of a project, optionally of one user and one type."""

    project_id: str
    user_id: str | None = None
    consumer_type: str | None = None


def get_allocations(session: Session, consumers: Collection[str]) -> list[AnyRow]:
    """Return the allocations of these consumers, one row per provider and class."""
    return list(rows_in(session, _HELD_BY, consumers))


def moving_consumers(session: Session, consumers: Collection[str], cell_uuid: str) -> list[str]:
    """Return those of these consumers that move to or from a cell."""
    return [row.consumer_uuid for row in rows_in(session, _MOVING, consumers)
            if cell_uuid in (row.cell_uuid, row.other_cell_uuid)]  # fmt: skip


def get_allocations_of_many(session: Session, providers: Collection[str]) -> list[AnyRow]:
    """Return the allocations on these providers, one row per provider, consumer and class."""
    return list(rows_in(session, _HELD_OF_MANY, providers))


def get_allocations_of(session: Session, provider: str) -> Sequence[AnyRow]:
    """Return the allocations of a provider, one row per consumer and class.

    One row without a consumer means a provider without allocations; no row, no provider.
    """
    return session.execute(_HELD_OF.where(ResourceProvider.uuid == provider)).all()


def list_allocations(session: Session, *, marker: str | None, limit: int) -> Sequence[AnyRow]:
    """Return the allocations of the first ``limit`` consumers after ``marker``, by UUID."""
    page = select(Consumer.uuid.label("page_uuid")).order_by(Consumer.uuid).limit(limit)
    if marker is not None:
        page = page.where(Consumer.uuid > marker)
    consumers = page.subquery()
    rows = _HELD.join(consumers, consumers.c.page_uuid == Consumer.uuid).order_by(
        Consumer.uuid, ResourceProvider.uuid, ResourceClass.name
    )
    return session.execute(rows).all()


def list_group_places(session: Session, group_uuid: str) -> list[GroupPlace]:
    """Return the places of a server group's members, one of each consumer."""
    rows = session.scalars(_IN_GROUP, {"group_uuid": group_uuid})
    places = (place_from(group_uuid, stored) for stored in rows)
    return [place for place in places if place is not None]


def count_consumers(session: Session) -> int:
    """Return the number of consumers with allocations."""
    return session.execute(select(func.count()).select_from(Consumer)).scalar_one()


def count_of_provider(session: Session, provider_id: int) -> int:
    """Return the number of consumers with allocations of a provider, by its id."""
    return session.execute(_COUNT_OF_PROVIDER, {"provider_id": provider_id}).scalar_one()


def sum_amounts(session: Session, whose: Whose) -> list[tuple[str, str, int]]:
    """Return consumer type, class and total amount of their allocations."""
    sums: _AnySelect = (
        select(Consumer.consumer_type, ResourceClass.name, func.sum(Allocation.amount))
        .join(Allocation, Allocation.consumer_uuid == Consumer.uuid)
        .join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
        .group_by(Consumer.consumer_type, ResourceClass.name)
    )
    rows = session.execute(_of(sums, whose))
    return [(type_, name, int(amount)) for type_, name, amount in rows]


def count_by_type(session: Session, whose: Whose) -> dict[str, int]:
    """Return consumer type -> number of consumers with allocations."""
    counts: _AnySelect = select(Consumer.consumer_type, func.count())
    rows = session.execute(_of(counts.group_by(Consumer.consumer_type), whose))
    return {row[0]: row[1] for row in rows}


def prune_fences(session: Session, before: dt.datetime) -> int:
    """Delete the old fences of consumers without allocations; return their number."""
    is_held = select(Consumer.uuid).where(Consumer.uuid == ConsumerFence.consumer_uuid).exists()
    old = delete(ConsumerFence.table()).where(ConsumerFence.updated_at < before, ~is_held)
    return cast("CursorResult[Any]", session.execute(old)).rowcount


def _of(statement: _AnySelect, whose: Whose) -> _AnySelect:
    statement = statement.where(Consumer.project_id == whose.project_id)
    if whose.user_id is not None:
        statement = statement.where(Consumer.user_id == whose.user_id)
    if whose.consumer_type is not None:
        statement = statement.where(Consumer.consumer_type == whose.consumer_type)
    return statement
