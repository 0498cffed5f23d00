"""Queries on inventories and their usage, and writes of differences."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from sqlalchemy import and_, bindparam, delete, select
from sqlalchemy.orm import Session

from placement.db import names
from placement.db.models import INVENTORY_FIGURES, Inventory, ResourceClass, ResourceProvider, Usage
from placement.db.statements import any_of, execute_in, rows_in, upsert
from placement.providers.inventory import Inventory as Figures

_HOLDINGS = (
    select(
        ResourceProvider.id,
        ResourceProvider.uuid,
        ResourceProvider.generation,
        ResourceProvider.updated_at,
        ResourceClass.name,
        Usage.used,
        *INVENTORY_FIGURES,
    )
    .outerjoin(Inventory, Inventory.resource_provider_id == ResourceProvider.id)
    .outerjoin(ResourceClass, ResourceClass.id == Inventory.resource_class_id)
    .outerjoin(
        Usage,
        and_(
            Usage.resource_provider_id == ResourceProvider.id,
            Usage.resource_class_id == Inventory.resource_class_id,
        ),
    )
    .where(ResourceProvider.uuid.in_(any_of()))
    .order_by(ResourceProvider.id, ResourceClass.id)
)
_DELETE = tuple(
    delete(table).where(
        table.c.resource_class_id == bindparam("class_id"),
        table.c.resource_provider_id.in_(any_of()),
    )
    for table in (Usage.table(), Inventory.table())
)

Inventories = Mapping[str, Figures]
"""Class -> figures."""


@dataclass(slots=True)
class Holdings:
    """A provider's inventories and usage (no entry: unused), from one snapshot."""

    id: int
    uuid: str
    generation: int
    updated_at: dt.datetime
    inventories: dict[str, Figures] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)


def get(session: Session, uuids: Collection[str]) -> dict[str, Holdings]:
    """Return the holdings of the existing ones of these providers, by UUID.

    A single query, so that they match their generation even without a lock.
    """
    found: dict[str, Holdings] = {}
    for number, uuid, generation, updated_at, name, used, *figures in rows_in(
        session, _HOLDINGS, uuids
    ):
        holdings = found.get(uuid)
        if holdings is None:
            holdings = found[uuid] = Holdings(number, uuid, generation, updated_at)
        if name is not None:
            holdings.inventories[name] = Figures(*figures)
        if used:
            holdings.used[name] = used
    return found


def store(
    session: Session, changes: Iterable[tuple[int, Inventories, Inventories]], now: dt.datetime
) -> None:
    """Write the differences, given provider ids with present and new inventories.

    Requires the epoch's lock. The caller touches the providers, and ensures that removed
    inventories are unused.
    """
    written: list[tuple[int, str, Figures]] = []
    gone: dict[str, list[int]] = defaultdict(list)
    for number, before, after in changes:
        written.extend(
            (number, name, figures)
            for name, figures in after.items()
            if before.get(name) != figures
        )
        for name in before.keys() - after.keys():
            gone[name].append(number)
    ids = names.class_ids(session, {name for _, name, _ in written} | gone.keys(), now)
    for name, numbers in gone.items():
        for statement in _DELETE:
            execute_in(session, statement, numbers, class_id=ids[name])
    rows = [
        {"resource_provider_id": number, "resource_class_id": ids[name], **figures.to_plain()}
        for number, name, figures in written
    ]
    upsert(session, Inventory.table(), rows)
