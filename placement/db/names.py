"""Numbers for names: resource classes, traits, aggregates get theirs when they are first used.

All need the epoch's lock.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from placement.db.models import Aggregate, Base, ResourceClass, Trait
from placement.db.statements import any_of, insert_rows, rows_in

_CLASSES = select(ResourceClass.name, ResourceClass.id).where(ResourceClass.name.in_(any_of()))
_TRAITS = select(Trait.name, Trait.id).where(Trait.name.in_(any_of()))
_AGGREGATES = select(Aggregate.uuid, Aggregate.id).where(Aggregate.uuid.in_(any_of()))


def class_ids(session: Session, names: Collection[str]) -> dict[str, int]:
    """Return the ids of resource classes, making those that are new."""
    return _ids(session, ResourceClass, "name", _CLASSES, names)


def trait_ids(session: Session, names: Collection[str]) -> dict[str, int]:
    """Return the ids of traits, making those that are new."""
    return _ids(session, Trait, "name", _TRAITS, names)


def aggregate_ids(session: Session, uuids: Collection[str]) -> dict[str, int]:
    """Return the ids of aggregates, making those that are new."""
    return _ids(session, Aggregate, "uuid", _AGGREGATES, uuids)


def _ids(
    session: Session,
    model: type[Base],
    column: str,
    query: Select[str, int],
    names: Collection[str],
) -> dict[str, int]:
    found = _find_ids(session, query, names)
    missing = [name for name in names if name not in found]
    if missing:
        insert_rows(session, model.table(), [{column: name} for name in missing])
        found |= _find_ids(session, query, missing)
    return found


def _find_ids(session: Session, query: Select[str, int], names: Collection[str]) -> dict[str, int]:
    return {row[0]: row[1] for row in rows_in(session, query, names)}
