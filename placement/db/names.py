"""Names of resource classes, traits and aggregates, and their database ids.

Ids are assigned on creation or first use. All except reads require the epoch's lock.
"""

import datetime as dt
from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Select, bindparam, delete, exists, select, update
from sqlalchemy.orm import Session

from placement.db.models import (
    Aggregate,
    Allocation,
    Base,
    Inventory,
    ResourceClass,
    ResourceProviderTrait,
    Trait,
    Usage,
)
from placement.db.statements import any_of, insert_rows, rows_in
from placement.providers import names as known


class NameRow(NamedTuple):
    """The row of a resource class or a trait."""

    id: int
    name: str
    updated_at: dt.datetime


_CLASS_COLUMNS = select(ResourceClass.id, ResourceClass.name, ResourceClass.updated_at)
_CLASS_IDS = select(ResourceClass.name, ResourceClass.id).where(ResourceClass.name.in_(any_of()))
_CLASS_HOLDERS = select(Inventory.resource_provider_id).where(
    Inventory.resource_class_id == bindparam("number")
)
_CLASS_IS_USED = select(
    exists().where(Inventory.resource_class_id == bindparam("number"))
    | exists().where(Allocation.resource_class_id == bindparam("number"))
)
_TRAIT_COLUMNS = select(Trait.id, Trait.name, Trait.updated_at)
_TRAIT_IDS = select(Trait.name, Trait.id).where(Trait.name.in_(any_of()))
_TRAIT_HAS_PROVIDERS = exists().where(ResourceProviderTrait.trait_id == Trait.id)
_AGGREGATE_IDS = select(Aggregate.uuid, Aggregate.id).where(Aggregate.uuid.in_(any_of()))


def class_ids(session: Session, names: Collection[str], now: dt.datetime) -> dict[str, int]:
    """Return the ids of resource classes, creating new ones."""
    return _ids(session, ResourceClass, "name", _CLASS_IDS, names, {"updated_at": now})


def trait_ids(session: Session, names: Collection[str], now: dt.datetime) -> dict[str, int]:
    """Return the ids of traits, creating new ones."""
    return _ids(session, Trait, "name", _TRAIT_IDS, names, {"updated_at": now})


def aggregate_ids(session: Session, uuids: Collection[str]) -> dict[str, int]:
    """Return the ids of aggregates, creating new ones."""
    return _ids(session, Aggregate, "uuid", _AGGREGATE_IDS, uuids, {})


def missing_classes(session: Session, names: Collection[str]) -> list[str]:
    """Return the names, sorted, that are not resource classes."""
    return _missing(session, _CLASS_IDS, [n for n in names if not known.is_standard_class(n)])


def missing_traits(session: Session, names: Collection[str]) -> list[str]:
    """Return the names, sorted, that are not traits."""
    return _missing(session, _TRAIT_IDS, [n for n in names if not known.is_standard_trait(n)])


def list_classes(session: Session) -> list[NameRow]:
    """Return the resource classes that have a row, oldest first."""
    rows = session.execute(_CLASS_COLUMNS.order_by(ResourceClass.id))
    return [NameRow(*row) for row in rows]


def list_traits(session: Session, *, is_associated: bool) -> list[NameRow]:
    """Return the traits that have a row, by name; optionally only those of providers."""
    statement = _TRAIT_COLUMNS.order_by(Trait.name)
    if is_associated:
        statement = statement.where(_TRAIT_HAS_PROVIDERS)
    return [NameRow(*row) for row in session.execute(statement)]


def find_class(session: Session, name: str) -> NameRow | None:
    """Return the row of a resource class, if it has one."""
    row = session.execute(_CLASS_COLUMNS.where(ResourceClass.name == name)).one_or_none()
    return NameRow(*row) if row else None


def find_trait(session: Session, name: str) -> NameRow | None:
    """Return the row of a trait, if it has one."""
    row = session.execute(_TRAIT_COLUMNS.where(Trait.name == name)).one_or_none()
    return NameRow(*row) if row else None


def rename_class(session: Session, number: int, name: str, now: dt.datetime) -> None:
    """Rename a resource class."""
    table = ResourceClass.table()
    session.execute(update(table).where(table.c.id == number).values(name=name, updated_at=now))


def providers_with_class(session: Session, number: int) -> list[int]:
    """Return the ids of the providers that have an inventory of a resource class."""
    return list(session.scalars(_CLASS_HOLDERS, {"number": number}))


def is_class_used(session: Session, number: int) -> bool:
    """Return whether any provider has an inventory of a resource class."""
    return bool(session.execute(_CLASS_IS_USED, {"number": number}).scalar_one())


def is_trait_used(session: Session, number: int) -> bool:
    """Return whether any provider has a trait."""
    holders = exists().where(ResourceProviderTrait.trait_id == number)
    return bool(session.execute(select(holders)).scalar_one())


def delete_class(session: Session, number: int) -> None:
    """Delete the row of an unused resource class."""
    session.execute(delete(Usage.table()).where(Usage.resource_class_id == number))  # all zero
    session.execute(delete(ResourceClass.table()).where(ResourceClass.id == number))


def delete_trait(session: Session, number: int) -> None:
    """Delete the row of a trait that no provider has."""
    session.execute(delete(Trait.table()).where(Trait.id == number))


def _ids(
    session: Session,
    model: type[Base],
    column: str,
    query: Select[str, int],
    names: Collection[str],
    values: dict[str, dt.datetime],
) -> dict[str, int]:
    found = _find_ids(session, query, names)
    missing = [name for name in names if name not in found]
    if missing:
        insert_rows(session, model.table(), [{column: name, **values} for name in missing])
        found |= _find_ids(session, query, missing)
    return found


def _missing(session: Session, query: Select[str, int], names: Collection[str]) -> list[str]:
    custom = [name for name in names if known.is_custom(name)]
    return sorted(set(names) - _find_ids(session, query, custom).keys())


def _find_ids(session: Session, query: Select[str, int], names: Collection[str]) -> dict[str, int]:
    return {row[0]: row[1] for row in rows_in(session, query, names)}
