"""Queries about consumers: the ledger's rows in and out, and pages of them for audits."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from typing import Any, cast

from sqlalchemy import CursorResult, delete, func, select, update
from sqlalchemy.orm import Session

from placement.db import epochs
from placement.db.models import (
    Allocation,
    Consumer,
    ConsumerFence,
    Inventory,
    ResourceClass,
    ResourceProvider,
    Usage,
)
from placement.db.statements import AnyRow, any_of, execute_in, insert_rows, rows_in, upsert
from placement.inventory import Inventory as Figures
from placement.ledger import Account, Holding, Ledger, Provider

_HELD = (
    select(
        Consumer.uuid,
        Consumer.generation,
        Consumer.consumer_type,
        Consumer.project_id,
        Consumer.user_id,
        ResourceProvider.uuid.label("provider_uuid"),
        ResourceProvider.name.label("provider_name"),
        ResourceClass.name.label("resource_class"),
        Allocation.amount,
    )
    .join(Allocation, Allocation.consumer_uuid == Consumer.uuid)
    .join(ResourceProvider, ResourceProvider.id == Allocation.resource_provider_id)
    .join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
)
_ACCOUNTS = (
    select(
        ResourceProvider.uuid,
        ResourceProvider.id,
        ResourceProvider.name,
        ResourceClass.name,
        ResourceClass.id,
        func.coalesce(Usage.used, 0),
        Inventory.total,
        Inventory.reserved,
        Inventory.min_unit,
        Inventory.max_unit,
        Inventory.step_size,
        Inventory.allocation_ratio,
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
_HELD_BY = _HELD.where(Consumer.uuid.in_(any_of()))
_FENCES = select(ConsumerFence.consumer_uuid, ConsumerFence.fence).where(
    ConsumerFence.consumer_uuid.in_(any_of())
)
_DROP_ALLOCATIONS = delete(Allocation.table()).where(Allocation.consumer_uuid.in_(any_of()))
_DROP_CONSUMERS = delete(Consumer.table()).where(Consumer.uuid.in_(any_of()))
_NEXT_GENERATION = (
    update(ResourceProvider.table())
    .where(ResourceProvider.id.in_(any_of()))
    .values(generation=ResourceProvider.table().c.generation + 1)
)


def get_ledger(
    session: Session, *, consumers: Collection[str], providers: Collection[str]
) -> Ledger:
    """Return a ledger about these consumers, these providers, and those that they hold of."""
    holdings = dict[str, Holding | None].fromkeys(consumers)
    holdings.update(_holdings(session, consumers))
    held_providers = {
        provider for holding in holdings.values() if holding for provider in holding.amounts
    }
    return Ledger(
        holdings=holdings,
        fences={row.consumer_uuid: row.fence for row in rows_in(session, _FENCES, consumers)},
        providers=_providers(session, held_providers.union(providers)),
    )


def store(session: Session, ledger: Ledger, epoch: int, now: dt.datetime) -> None:
    """Write what changed in a ledger; nothing when nothing did. Needs the epoch's lock."""
    _store_holdings(session, ledger)
    _store_accounts(session, ledger, epoch)
    fences = [
        {"consumer_uuid": uuid, "fence": ledger.fences[uuid], "updated_at": now}
        for uuid in ledger.changed_fences
    ]
    upsert(session, ConsumerFence.table(), fences)


def get_allocations(session: Session, consumers: Collection[str]) -> list[AnyRow]:
    """Return the allocations of these consumers, one row for each provider and class."""
    return list(rows_in(session, _HELD_BY, consumers))


def list_allocations(session: Session, *, marker: str | None, limit: int) -> Sequence[AnyRow]:
    """Return those of the first ``limit`` consumers after ``marker``, by their UUIDs."""
    page = select(Consumer.uuid.label("page_uuid")).order_by(Consumer.uuid).limit(limit)
    if marker is not None:
        page = page.where(Consumer.uuid > marker)
    consumers = page.subquery()
    rows = _HELD.join(consumers, consumers.c.page_uuid == Consumer.uuid).order_by(
        Consumer.uuid, ResourceProvider.uuid, ResourceClass.name
    )
    return session.execute(rows).all()


def count_consumers(session: Session) -> int:
    """Return how many consumers hold something."""
    return session.execute(select(func.count()).select_from(Consumer)).scalar_one()


def prune_fences(session: Session, before: dt.datetime) -> int:
    """Forget the old fences of consumers that hold nothing; return how many there were."""
    is_held = select(Consumer.uuid).where(Consumer.uuid == ConsumerFence.consumer_uuid).exists()
    old = delete(ConsumerFence.table()).where(ConsumerFence.updated_at < before, ~is_held)
    return cast("CursorResult[Any]", session.execute(old)).rowcount


def _holdings(session: Session, consumers: Collection[str]) -> dict[str, Holding]:
    holdings: dict[str, Holding] = {}
    for row in rows_in(session, _HELD_BY, consumers):
        holding = holdings.get(row.uuid)
        if holding is None:
            holding = holdings[row.uuid] = Holding(
                consumer_type=row.consumer_type,
                project_id=row.project_id,
                user_id=row.user_id,
                amounts={},
                generation=row.generation,
            )
        holding.amounts.setdefault(row.provider_uuid, {})[row.resource_class] = row.amount
    return holdings


def _providers(session: Session, uuids: Collection[str]) -> dict[str, Provider]:
    providers: dict[str, Provider] = {}
    for uuid, number, name, resource_class, class_id, used, *figures in rows_in(
        session, _ACCOUNTS, uuids
    ):
        provider = providers.setdefault(uuid, Provider(id=number, name=name))
        if resource_class is not None:
            provider.accounts[resource_class] = Account(class_id, Figures(*figures), used)
    return providers


def _store_holdings(session: Session, ledger: Ledger) -> None:
    stored = ledger.changed_consumers & ledger.stored_consumers
    kept = {
        uuid: holding
        for uuid in ledger.changed_consumers
        if (holding := ledger.holdings[uuid]) is not None
    }
    execute_in(session, _DROP_ALLOCATIONS, stored)
    execute_in(session, _DROP_CONSUMERS, stored - kept.keys())
    consumers = [
        {
            "uuid": uuid,
            "generation": holding.generation,
            "consumer_type": holding.consumer_type,
            "project_id": holding.project_id,
            "user_id": holding.user_id,
        }
        for uuid, holding in kept.items()
    ]
    upsert(session, Consumer.table(), consumers)
    allocations = [
        {
            "consumer_uuid": uuid,
            "resource_provider_id": ledger.providers[provider].id,
            "resource_class_id": ledger.providers[provider].accounts[name].resource_class_id,
            "amount": amount,
        }
        for uuid, holding in kept.items()
        for provider, resources in holding.amounts.items()
        for name, amount in resources.items()
    ]
    insert_rows(session, Allocation.table(), allocations)


def _store_accounts(session: Session, ledger: Ledger, epoch: int) -> None:
    usages = []
    for uuid, name in ledger.changed_accounts:
        provider = ledger.providers[uuid]
        account = provider.accounts[name]
        assert account.used >= 0, f"{name} on {uuid}: less than nothing is used"
        usages.append(
            {
                "resource_provider_id": provider.id,
                "resource_class_id": account.resource_class_id,
                "used": account.used,
                "epoch": epoch,
            }
        )
    if not usages:
        return
    upsert(session, Usage.table(), usages)
    providers = [ledger.providers[uuid].id for uuid in ledger.changed_providers]
    execute_in(session, _NEXT_GENERATION, providers)
    epochs.publish_usage(session, epoch)
