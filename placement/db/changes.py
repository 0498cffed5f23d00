"""Changes since an epoch: queries that update a reader's table."""

import itertools
from collections.abc import Iterable

import numpy as np
from sqlalchemy import BindParameter, Executable, bindparam, func, select
from sqlalchemy.orm import Session

from placement.db import epochs
from placement.db.models import (
    INVENTORY_FIGURES,
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
from placement.providers.inventory import Inventory as Figures
from placement.providers.provider_changes import ChangedProvider, ProviderChanges
from placement.providers.provider_table import EPOCH_NONE

_SINCE: BindParameter[int] = bindparam("since")
_IS_CHANGED = ResourceProvider.epoch > _SINCE
_TOMBSTONES = select(ProviderTombstone.resource_provider_id).where(ProviderTombstone.epoch > _SINCE)
_PROVIDERS = (
    select(
        ResourceProvider.id,
        ResourceProvider.uuid,
        func.coalesce(ResourceProvider.root_provider_id, ResourceProvider.id),
        ResourceProvider.parent_provider_id,
    )
    .where(_IS_CHANGED)
    .order_by(ResourceProvider.id)
)
_INVENTORIES = select(
    Inventory.resource_class_id, Inventory.resource_provider_id, *INVENTORY_FIGURES
)
_CHANGED_INVENTORIES = _INVENTORIES.join(
    ResourceProvider, ResourceProvider.id == Inventory.resource_provider_id
).where(_IS_CHANGED)
_USAGES = select(ResourceClass.name, Usage.resource_provider_id, Usage.used).join(
    ResourceClass, ResourceClass.id == Usage.resource_class_id
)
_CHANGED_USAGES = _USAGES.where(Usage.epoch > _SINCE)
_OTHER_USAGES = (
    _USAGES.join(ResourceProvider, ResourceProvider.id == Usage.resource_provider_id)
    .where(_IS_CHANGED, Usage.epoch <= _SINCE)
)  # fmt: skip
_TRAITS = select(ResourceProviderTrait.trait_id, ResourceProviderTrait.resource_provider_id)
_CHANGED_TRAITS = _TRAITS.join(
    ResourceProvider, ResourceProvider.id == ResourceProviderTrait.resource_provider_id
).where(_IS_CHANGED)
_AGGREGATES = select(
    ResourceProviderAggregate.aggregate_id, ResourceProviderAggregate.resource_provider_id
)
_CHANGED_AGGREGATES = _AGGREGATES.join(
    ResourceProvider, ResourceProvider.id == ResourceProviderAggregate.resource_provider_id
).where(_IS_CHANGED)
_CLASS_NAMES = select(ResourceClass.id, ResourceClass.name)
_TRAIT_NAMES = select(Trait.id, Trait.name)
_AGGREGATE_UUIDS = select(Aggregate.id, Aggregate.uuid)
_FETCH_ROWS = 50_000


def get_changes(session: Session, since: int) -> ProviderChanges | None:
    """Return the changes since epoch ``since``, or None if the table must be reloaded.

    That is the case if needed tombstones were pruned, or if the database went back in time (a
    lagging standby took over). The session must use a snapshot: ``epochs.begin_snapshot``.
    """
    now = epochs.get_epochs(session)
    if since != EPOCH_NONE and not now.forgotten_epoch <= since <= now.epoch:
        return None
    changes = ProviderChanges(epoch=now.epoch)
    if now.facts_epoch > since:
        _add_facts(session, changes, since)
    if now.epoch > since:
        _add_usages(session, changes, _CHANGED_USAGES, since)
    return changes


def _add_facts(session: Session, changes: ProviderChanges, since: int) -> None:
    """Add the facts of changed providers; for a new table those of all, which needs no joins."""
    is_all = since == EPOCH_NONE
    changes.gone = [number for (number,) in _rows(session, _TOMBSTONES, since)]
    changes.providers = [ChangedProvider(*row) for row in _rows(session, _PROVIDERS, since)]
    classes = _names(session, _CLASS_NAMES)
    inventories = _INVENTORIES if is_all else _CHANGED_INVENTORIES
    for number, provider, *figures in _rows(session, inventories, since):
        found = changes.inventories.setdefault(classes[number], [])
        found.append((provider, Figures(*figures)))
    traits, aggregates = (
        (_TRAITS, _AGGREGATES) if is_all else (_CHANGED_TRAITS, _CHANGED_AGGREGATES)
    )
    changes.traits = _by_name(session, traits, _TRAIT_NAMES, since)
    changes.aggregates = _by_name(session, aggregates, _AGGREGATE_UUIDS, since)
    _add_usages(session, changes, _OTHER_USAGES, since)


def _by_name(
    session: Session, statement: Executable, names: Executable, since: int
) -> dict[str, list[int]]:
    """Return name -> provider ids, from pairs of ids: there may be millions of them."""
    parts = [np.empty((0, 2), np.int64)]
    for rows in session.connection().execute(statement, {"since": since}).partitions(_FETCH_ROWS):
        numbers = np.fromiter(itertools.chain.from_iterable(rows), np.int64, 2 * len(rows))
        parts.append(numbers.reshape(-1, 2))
    pairs = np.concatenate(parts)
    if not len(pairs):
        return {}
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    cuts = np.flatnonzero(np.diff(pairs[:, 0])) + 1
    name_of = _names(session, names)
    return {name_of[int(part[0, 0])]: part[:, 1].tolist() for part in np.split(pairs, cuts)}


def _names(session: Session, statement: Executable) -> dict[int, str]:
    return {row[0]: row[1] for row in session.connection().execute(statement)}


def _add_usages(
    session: Session, changes: ProviderChanges, statement: Executable, since: int
) -> None:
    for name, number, used in _rows(session, statement, since):
        changes.usages.setdefault(name, []).append((number, used))


def _rows(session: Session, statement: Executable, since: int) -> Iterable[AnyRow]:
    """Query the connection row by row: there may be millions, and these are not objects."""
    return session.connection().execute(statement, {"since": since})
