"""Queries on providers: stored facts, and writes of differences.

All except ``get_ids`` require the epoch's lock.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any, cast

from sqlalchemy import CursorResult, bindparam, delete, exists, func, select, update
from sqlalchemy.orm import Session

from placement.db import epochs, inventories, provider_traits
from placement.db.models import (
    INVENTORY_FIGURES,
    Allocation,
    Inventory,
    ProviderTombstone,
    ResourceClass,
    ResourceProvider,
    ResourceProviderAggregate,
    ResourceProviderTrait,
    Trait,
    Usage,
)
from placement.db.statements import any_of, execute_in, insert_rows, rows_in
from placement.providers.inventory import Inventory as Figures
from placement.providers.provider_report import CurrentProvider

_PROVIDER = ResourceProvider.table()
_PROVIDERS = select(
    ResourceProvider.id,
    ResourceProvider.uuid,
    ResourceProvider.name,
    ResourceProvider.generation,
    ResourceProvider.cell_uuid,
    ResourceProvider.report_order,
).where(ResourceProvider.uuid.in_(any_of()))
_IDS = select(ResourceProvider.uuid, ResourceProvider.id).where(ResourceProvider.uuid.in_(any_of()))
_OWNERS_BY_NAME = select(ResourceProvider.name, ResourceProvider.cell_uuid).where(
    ResourceProvider.name.in_(any_of())
)
_UUIDS_BY_NAME = select(ResourceProvider.name, ResourceProvider.uuid).where(
    ResourceProvider.name.in_(any_of())
)
_INVENTORIES = (
    select(Inventory.resource_provider_id, ResourceClass.name, *INVENTORY_FIGURES)
    .join(ResourceClass, ResourceClass.id == Inventory.resource_class_id)
    .where(Inventory.resource_provider_id.in_(any_of()))
)
_USED = (
    select(Usage.resource_provider_id, ResourceClass.name)
    .join(ResourceClass, ResourceClass.id == Usage.resource_class_id)
    .where(Usage.resource_provider_id.in_(any_of()), Usage.used > 0)
)
_TRAITS = (
    select(ResourceProviderTrait.resource_provider_id, Trait.name)
    .join(Trait, Trait.id == ResourceProviderTrait.trait_id)
    .where(ResourceProviderTrait.resource_provider_id.in_(any_of()))
)
_TOUCH_QUIETLY = (
    update(_PROVIDER)
    .where(_PROVIDER.c.id.in_(any_of()))
    .values(epoch=bindparam("new_epoch"), updated_at=bindparam("now"))
)
_TOUCH = _TOUCH_QUIETLY.values(generation=_PROVIDER.c.generation + 1)
_RENAME = (
    update(_PROVIDER)
    .where(_PROVIDER.c.id == bindparam("provider_id"))
    .values(name=bindparam("new_name"))
)
_SET_ORDER = (
    update(_PROVIDER)
    .where(_PROVIDER.c.id == bindparam("provider_id"))
    .values(report_order=bindparam("new_order"))
)
_IDENTITY = select(ResourceProvider.uuid, ResourceProvider.report_order).where(
    ResourceProvider.id == bindparam("provider_id")
)
_TOMBSTONE = ProviderTombstone.table()
_DELETED_ORDERS = (
    select(_TOMBSTONE.c.uuid, func.max(_TOMBSTONE.c.report_order))
    .where(_TOMBSTONE.c.uuid.in_(any_of()))
    .group_by(_TOMBSTONE.c.uuid)
)
_OWNERS = select(ResourceProvider.uuid, ResourceProvider.cell_uuid).where(
    ResourceProvider.uuid.in_(any_of())
)
_SET_OWNER = (
    update(_PROVIDER).where(_PROVIDER.c.uuid.in_(any_of())).values(cell_uuid=bindparam("owner"))
)
_BECOME_ROOTS = (
    update(_PROVIDER).where(_PROVIDER.c.uuid.in_(any_of())).values(root_provider_id=_PROVIDER.c.id)
)

_Numbered = Sequence[tuple[int, CurrentProvider | None, CurrentProvider]]
"""The id of a provider, its stored facts (None: it is new), and its new facts."""


def get_cluster_metadata(session: Session, uuids: Collection[str]) -> dict[str, CurrentProvider]:
    """Return the stored facts of the existing ones of these providers."""
    providers = list(rows_in(session, _PROVIDERS, uuids))
    ids = [row.id for row in providers]
    figures_of: dict[int, dict[str, Figures]] = defaultdict(dict)
    for number, name, *figures in rows_in(session, _INVENTORIES, ids):
        figures_of[number][name] = Figures(*figures)
    used = _get_names(session, _USED, ids)
    traits = _get_names(session, _TRAITS, ids)
    return {
        row.uuid: CurrentProvider(
            uuid=row.uuid,
            name=row.name,
            inventories=figures_of[row.id],
            traits=frozenset(traits[row.id]),
            used=frozenset(used[row.id]),
            generation=row.generation,
            id=row.id,
            cell_uuid=row.cell_uuid,
            order=row.report_order,
        )
        for row in providers
    }


def get_uuids_by_name(session: Session, provider_names: Collection[str]) -> dict[str, str]:
    """Return name -> UUID of the providers with these names."""
    return {row.name: row.uuid for row in rows_in(session, _UUIDS_BY_NAME, provider_names)}


def get_ids(session: Session, uuids: Collection[str]) -> dict[str, int]:
    """Return UUID -> id of the existing ones of these providers."""
    return {row.uuid: row.id for row in rows_in(session, _IDS, uuids)}


def store(
    session: Session,
    changes: Sequence[tuple[CurrentProvider | None, CurrentProvider]],
    epoch: int,
    now: dt.datetime,
) -> None:
    """Write facts, given each as stored (None: it is new) and as it is to be.

    The order of a report is stored without a new generation.
    """
    orders = [
        {"provider_id": old.id, "new_order": new.order}
        for old, new in changes
        if old is not None and old.order != new.order
    ]
    if orders:
        session.execute(_SET_ORDER, orders)
    changes = [(old, new) for old, new in changes if old != new]
    if not changes:
        return
    _insert_providers(session, [new for old, new in changes if old is None], epoch, now)
    ids = get_ids(session, [new.uuid for _, new in changes])
    numbered = [(ids[new.uuid], old, new) for old, new in changes]
    touch(session, [number for number, old, _ in numbered if old is not None], epoch, now)
    _rename(session, numbered)
    inventories.store(
        session,
        [
            (number, old.inventories if old else {}, new.inventories)
            for number, old, new in numbered
        ],
        now,
    )
    provider_traits.store(
        session,
        [(number, old.traits if old else frozenset(), new.traits) for number, old, new in numbered],
        now,
    )
    epochs.publish_facts(session, epoch)


def touch(session: Session, ids: Collection[int], epoch: int, now: dt.datetime) -> None:
    """Increment the generations of providers, and set the epoch that makes readers reload them."""
    execute_in(session, _TOUCH, ids, new_epoch=epoch, now=now)


def touch_quietly(session: Session, ids: Collection[int], epoch: int, now: dt.datetime) -> None:
    """Make readers reload providers without a new generation, which the API sometimes requires."""
    execute_in(session, _TOUCH_QUIETLY, ids, new_epoch=epoch, now=now)


def owners(session: Session, uuids: Collection[str]) -> dict[str, str | None]:
    """Return UUID -> the cell that owns it, for the existing ones of these providers."""
    return {row.uuid: row.cell_uuid for row in rows_in(session, _OWNERS, uuids)}


def owners_by_name(session: Session, provider_names: Collection[str]) -> dict[str, str | None]:
    """Return name -> the cell that owns it, of the providers with these names."""
    return {row.name: row.cell_uuid for row in rows_in(session, _OWNERS_BY_NAME, provider_names)}


def set_owner(session: Session, uuids: Collection[str], cell_uuid: str) -> None:
    """Store the cell that owns providers."""
    execute_in(session, _SET_OWNER, uuids, owner=cell_uuid)


def has_children(session: Session, provider_id: int) -> bool:
    """Return whether a provider has children."""
    children = exists().where(ResourceProvider.parent_provider_id == provider_id)
    return bool(session.execute(select(children)).scalar_one())


def has_allocations(session: Session, provider_id: int) -> bool:
    """Return whether a provider has allocations."""
    allocations = exists().where(Allocation.resource_provider_id == provider_id)
    return bool(session.execute(select(allocations)).scalar_one())


def remove(
    session: Session, provider_id: int, epoch: int, now: dt.datetime, *, order: int = 0
) -> None:
    """Delete a provider without allocations and children, leaving a tombstone.

    ``order`` is that of the deletion, if it has one.
    """
    uuid, last_order = session.execute(_IDENTITY, {"provider_id": provider_id}).one()
    for model in (Usage, Inventory, ResourceProviderTrait, ResourceProviderAggregate):
        table = model.table()
        session.execute(delete(table).where(table.c.resource_provider_id == provider_id))
    session.execute(delete(_PROVIDER).where(_PROVIDER.c.id == provider_id))
    tombstone = {
        "resource_provider_id": provider_id, "epoch": epoch, "deleted_at": now,
        "uuid": uuid, "report_order": max(order, last_order),
    }  # fmt: skip
    insert_rows(session, _TOMBSTONE, [tombstone])
    epochs.publish_facts(session, epoch)


def get_deleted_orders(session: Session, uuids: Collection[str]) -> dict[str, int]:
    """Return the orders of those providers among these that were deleted recently."""
    return {row[0]: row[1] for row in rows_in(session, _DELETED_ORDERS, uuids)}


def raise_deleted_order(session: Session, uuid: str, order: int) -> None:
    """Record a later deletion of a provider that is deleted already."""
    is_before = (_TOMBSTONE.c.uuid == uuid) & (_TOMBSTONE.c.report_order < order)
    session.execute(update(_TOMBSTONE).where(is_before).values(report_order=order))


def prune_tombstones(session: Session, before: dt.datetime) -> int:
    """Delete the tombstones of providers deleted before a time; return their number."""
    table = ProviderTombstone.table()
    newest = select(table.c.epoch).where(table.c.deleted_at < before)
    epoch = session.execute(newest.order_by(table.c.epoch.desc()).limit(1)).scalar()
    if epoch is None:
        return 0
    epochs.publish_forgotten(session, epoch)
    old = delete(table).where(table.c.epoch <= epoch)
    return cast("CursorResult[Any]", session.execute(old)).rowcount


def _get_names(session: Session, statement: Any, ids: Collection[int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    for number, name in rows_in(session, statement, ids):
        found[number].append(name)
    return found


def _insert_providers(
    session: Session, providers: Sequence[CurrentProvider], epoch: int, now: dt.datetime
) -> None:
    rows = [
        {
            "uuid": facts.uuid,
            "name": facts.name,
            "generation": facts.generation,
            "epoch": epoch,
            "updated_at": now,
            "cell_uuid": facts.cell_uuid,
            "report_order": facts.order,
        }
        for facts in providers
    ]
    insert_rows(session, _PROVIDER, rows)
    execute_in(session, _BECOME_ROOTS, [facts.uuid for facts in providers])


def _rename(session: Session, providers: _Numbered) -> None:
    renamed = [
        {"provider_id": number, "new_name": new.name}
        for number, old, new in providers
        if old is not None and old.name != new.name
    ]
    if renamed:
        session.execute(_RENAME, renamed)
