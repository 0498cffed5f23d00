"""Reads and writes of the ledger's rows, on any database."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import bindparam, delete, func, select, update
from sqlalchemy.orm import Session

from placement.db import epochs
from placement.db.models import (
    INVENTORY_FIGURES,
    Allocation,
    Consumer,
    ConsumerFence,
    Inventory,
    ResourceClass,
    ResourceProvider,
    Usage,
)
from placement.db.statements import any_of, execute_in, insert_rows, rows_in, upsert

_HELD = (
    select(
        Consumer.uuid,
        Consumer.generation,
        Consumer.consumer_type,
        Consumer.project_id,
        Consumer.user_id,
        Consumer.group_uuid,
        Consumer.group_place,
        ResourceProvider.uuid.label("provider_uuid"),
        ResourceClass.name.label("resource_class"),
        Allocation.amount,
    )
    .join(Allocation, Allocation.consumer_uuid == Consumer.uuid)
    .join(ResourceProvider, ResourceProvider.id == Allocation.resource_provider_id)
    .join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
    .where(Consumer.uuid.in_(any_of()))
)
_ACCOUNTS = (
    select(
        ResourceProvider.uuid,
        ResourceProvider.id,
        ResourceProvider.name,
        ResourceProvider.generation,
        ResourceProvider.cell_uuid,
        ResourceClass.name,
        ResourceClass.id,
        func.coalesce(Usage.used, 0),
        *INVENTORY_FIGURES,
    )
    .outerjoin(Inventory, Inventory.resource_provider_id == ResourceProvider.id)
    .outerjoin(ResourceClass, ResourceClass.id == Inventory.resource_class_id)
    .outerjoin(
        Usage,
        (Usage.resource_provider_id == Inventory.resource_provider_id)
        & (Usage.resource_class_id == Inventory.resource_class_id),
    )
    .where(ResourceProvider.uuid.in_(any_of()))
)
_FENCES = select(
    ConsumerFence.consumer_uuid,
    ConsumerFence.fence,
    ConsumerFence.cell_uuid,
    ConsumerFence.other_cell_uuid,
    ConsumerFence.project_id,
    ConsumerFence.user_id,
).where(ConsumerFence.consumer_uuid.in_(any_of()))
_GROUPS = select(Consumer.uuid, Consumer.group_uuid, Consumer.group_place).where(
    Consumer.group_uuid.in_(any_of())
)
_DROP_ALLOCATIONS = delete(Allocation.table()).where(Allocation.consumer_uuid.in_(any_of()))
_DROP_CONSUMERS = delete(Consumer.table()).where(Consumer.uuid.in_(any_of()))
_RISE = (
    update(ResourceProvider.table())
    .where(ResourceProvider.id.in_(any_of()))
    .values(
        generation=ResourceProvider.table().c.generation + bindparam("steps"),
        updated_at=bindparam("now"),
    )
)


@dataclass(frozen=True)
class Found:
    """Stored rows, as tuples.

    ``fences``: consumer, fence, its cell and the other one, project, user. ``held``: consumer,
    generation, type, project, user, group, place in it, provider, class, amount. ``groups``:
    consumer, group, place, of all members of the groups. ``accounts``: provider, its id, name,
    generation and cell, class, its id, usage, the six values of the inventory; the class is None
    for a provider without inventories.
    """

    epoch: int
    fences: Iterable[Any]
    held: Iterable[Any]
    groups: Iterable[Any]
    accounts: Iterable[Any]


@dataclass
class Changes:
    """Rows to write with an epoch and a time; complete, and keyed by column name.

    The allocations of ``emptied`` consumers are deleted before new ones are written; ``gone``
    consumers are deleted. ``steps`` maps provider ids to increments of their generations.
    """

    epoch: int
    now: dt.datetime
    emptied: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    consumers: list[Mapping[str, Any]] = field(default_factory=list)
    allocations: list[Mapping[str, Any]] = field(default_factory=list)
    usages: list[Mapping[str, Any]] = field(default_factory=list)
    fences: list[Mapping[str, Any]] = field(default_factory=list)
    steps: dict[int, int] = field(default_factory=dict)


def lock_and_read(
    session: Session,
    consumers: Collection[str],
    providers: Collection[str],
    groups: Collection[str],
) -> Found:
    """Take the epoch's lock, then read consumers, providers and groups, and those of consumers."""
    epoch = epochs.lock(session)
    held = list(rows_in(session, _HELD, consumers))
    accounts = rows_in(session, _ACCOUNTS, {row.provider_uuid for row in held}.union(providers))
    groups = {row.group_uuid for row in held if row.group_uuid is not None}.union(groups)
    return Found(
        epoch,
        list(rows_in(session, _FENCES, consumers)),
        held,
        list(rows_in(session, _GROUPS, groups)),
        list(accounts),
    )


def write(session: Session, changes: Changes) -> None:
    """Write the changes; requires the epoch's lock."""
    execute_in(session, _DROP_ALLOCATIONS, changes.emptied)
    execute_in(session, _DROP_CONSUMERS, changes.gone)
    upsert(session, Consumer.table(), changes.consumers)
    insert_rows(session, Allocation.table(), changes.allocations)
    if changes.usages:
        upsert(session, Usage.table(), changes.usages)
        epochs.publish_usage(session, changes.epoch)
    risen: dict[int, list[int]] = defaultdict(list)
    for provider, steps in changes.steps.items():
        risen[steps].append(provider)
    for steps, ids in risen.items():
        execute_in(session, _RISE, ids, steps=steps, now=changes.now)
    upsert(session, ConsumerFence.table(), changes.fences)
