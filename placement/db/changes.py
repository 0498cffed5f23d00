"""What changed since an epoch: the queries that bring a reader's table up to date."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import BindParameter, Executable, bindparam, func, select
from sqlalchemy.orm import Session

from placement.db import epochs
from placement.db.models import (
    Aggregate,
    Inventory,
    ProviderTombstone,
    ResourceClass,
    ResourceProvider,
    ResourceProviderAggregate,
    ResourceProviderTrait,
    Trait,
    Usage,
)
from placement.db.statements import AnyRow
from placement.inventory import Inventory as Figures
from placement.provider_table import EPOCH_NONE, ProviderChanges

_SINCE: BindParameter[int] = bindparam("since")
_IS_CHANGED = ResourceProvider.epoch > _SINCE
_TOMBSTONES = select(ProviderTombstone.resource_provider_id).where(ProviderTombstone.epoch > _SINCE)
_PROVIDERS = (
    select(
        ResourceProvider.id,
        ResourceProvider.uuid,
        func.coalesce(ResourceProvider.root_provider_id, ResourceProvider.id),
    )
    .where(_IS_CHANGED)
    .order_by(ResourceProvider.id)
)
_INVENTORIES = (
    select(
        ResourceClass.name,
        Inventory.resource_provider_id,
        Inventory.total,
        Inventory.reserved,
        Inventory.min_unit,
        Inventory.max_unit,
        Inventory.step_size,
        Inventory.allocation_ratio,
    )
    .join(ResourceClass, ResourceClass.id == Inventory.resource_class_id)
    .join(ResourceProvider, ResourceProvider.id == Inventory.resource_provider_id)
    .where(_IS_CHANGED)
)
_USAGES = select(ResourceClass.name, Usage.resource_provider_id, Usage.used).join(
    ResourceClass, ResourceClass.id == Usage.resource_class_id
)
_CHANGED_USAGES = _USAGES.where(Usage.epoch > _SINCE)
_OTHER_USAGES = (
    _USAGES.join(ResourceProvider, ResourceProvider.id == Usage.resource_provider_id)
    .where(_IS_CHANGED, Usage.epoch <= _SINCE)
)  # fmt: skip
_TRAITS = (
    select(Trait.name, ResourceProviderTrait.resource_provider_id)
    .join(Trait, Trait.id == ResourceProviderTrait.trait_id)
    .join(ResourceProvider, ResourceProvider.id == ResourceProviderTrait.resource_provider_id)
    .where(_IS_CHANGED)
)
_AGGREGATES = (
    select(Aggregate.uuid, ResourceProviderAggregate.resource_provider_id)
    .join(Aggregate, Aggregate.id == ResourceProviderAggregate.aggregate_id)
    .join(ResourceProvider, ResourceProvider.id == ResourceProviderAggregate.resource_provider_id)
    .where(_IS_CHANGED)
)


def get_changes(session: Session, since: int) -> ProviderChanges | None:
    """Return what a table of epoch ``since`` lacks, or None when it has to begin anew.

    That is when tombstones it would need were pruned, or when the database went back in time (a
    standby that lagged took over). The session must see one moment: ``epochs.begin_snapshot``.
    """
    now = epochs.get_epochs(session)
    if since != EPOCH_NONE and not now.forgotten_epoch <= since <= now.epoch:
        return None
    changes = ProviderChanges(epoch=now.epoch)
    if now.facts_epoch > since:
        _add_facts(session, changes, since)
    _add_usages(session, changes, _CHANGED_USAGES, since)
    return changes


def _add_facts(session: Session, changes: ProviderChanges, since: int) -> None:
    changes.gone = [number for (number,) in _rows(session, _TOMBSTONES, since)]
    changes.providers = [
        (number, uuid, root) for number, uuid, root in _rows(session, _PROVIDERS, since)
    ]
    for name, number, *figures in _rows(session, _INVENTORIES, since):
        changes.inventories.setdefault(name, []).append((number, Figures(*figures)))
    for name, number in _rows(session, _TRAITS, since):
        changes.traits.setdefault(name, []).append(number)
    for uuid, number in _rows(session, _AGGREGATES, since):
        changes.aggregates.setdefault(uuid, []).append(number)
    _add_usages(session, changes, _OTHER_USAGES, since)


def _add_usages(
    session: Session, changes: ProviderChanges, statement: Executable, since: int
) -> None:
    for name, number, used in _rows(session, statement, since):
        changes.usages.setdefault(name, []).append((number, used))


def _rows(session: Session, statement: Executable, since: int) -> Iterable[AnyRow]:
    """Ask the connection, row by row: there may be millions, and these are no objects."""
    return session.connection().execute(statement, {"since": since})
