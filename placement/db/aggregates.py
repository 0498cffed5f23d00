"""Queries on aggregates: members, a provider's aggregates, and writes of differences.

All except reads require the epoch's lock.
"""

import datetime as dt
from collections.abc import Collection, Sequence

from sqlalchemy import bindparam, delete, or_, select, update
from sqlalchemy.orm import Session

from objects.claims.resource_kinds import POOL_TRAITS
from placement.db import epochs, names, providers
from placement.db.models import (
    Aggregate,
    ResourceProvider,
    ResourceProviderAggregate,
    ResourceProviderTrait,
    Trait,
)
from placement.db.statements import any_of, execute_in, insert_rows
from placement.providers.provider_record import ProviderAggregates
from placement.providers.sharing import SHARING_TRAIT

_MEMBER = ResourceProviderAggregate.table()
_REMOVE = delete(_MEMBER).where(
    _MEMBER.c.aggregate_id == bindparam("aggregate"), _MEMBER.c.resource_provider_id.in_(any_of())
)
_LEAVE = delete(_MEMBER).where(
    _MEMBER.c.resource_provider_id == bindparam("provider"), _MEMBER.c.aggregate_id.in_(any_of())
)
_OF_PROVIDER = (
    select(
        ResourceProvider.id,
        ResourceProvider.generation,
        ResourceProvider.updated_at,
        Aggregate.uuid,
    )
    .outerjoin(
        ResourceProviderAggregate,
        ResourceProviderAggregate.resource_provider_id == ResourceProvider.id,
    )
    .outerjoin(Aggregate, Aggregate.id == ResourceProviderAggregate.aggregate_id)
    .where(ResourceProvider.uuid == bindparam("provider"))
    .order_by(Aggregate.id)
)
_OF_OPERATORS = (
    select(ResourceProviderTrait.resource_provider_id)
    .join(Trait, Trait.id == ResourceProviderTrait.trait_id)
    .where(or_(Trait.name == SHARING_TRAIT, Trait.name.startswith(POOL_TRAITS, autoescape=True)))
)
"""Providers that operators put into aggregates: sharing ones, and pools."""
_ORDER = select(Aggregate.members_order).where(Aggregate.id == bindparam("aggregate"))
_SET_ORDER = (
    update(Aggregate.table())
    .where(Aggregate.table().c.id == bindparam("number"))
    .values(members_order=bindparam("order"))
)
_MEMBERS = (
    select(ResourceProvider.uuid)
    .join(
        ResourceProviderAggregate,
        ResourceProviderAggregate.resource_provider_id == ResourceProvider.id,
    )
    .join(Aggregate, Aggregate.id == ResourceProviderAggregate.aggregate_id)
    .where(Aggregate.uuid == bindparam("aggregate"), ResourceProvider.id.not_in(_OF_OPERATORS))
    .order_by(ResourceProvider.uuid)
)


def get_members(session: Session, aggregate: str) -> list[str]:
    """Return the UUIDs of the members of an aggregate that are hosts, sorted."""
    return list(session.scalars(_MEMBERS, {"aggregate": aggregate}))


def find_of_provider(session: Session, provider: str) -> ProviderAggregates | None:
    """Return the aggregates of a provider, if it exists; consistent even without a lock."""
    rows = session.execute(_OF_PROVIDER, {"provider": provider}).all()
    if not rows:
        return None
    number, generation, updated_at, _ = rows[0]
    uuids = [row.uuid for row in rows if row.uuid is not None]
    return ProviderAggregates(number, uuids, generation, updated_at)


def set_of_provider(session: Session, present: ProviderAggregates, wanted: Sequence[str]) -> None:
    """Set the aggregates of a provider to exactly these; the caller touches it."""
    before = set(present.aggregates)
    ids = names.aggregate_ids(session, [*before.difference(wanted), *wanted])
    gone = [ids[uuid] for uuid in before.difference(wanted)]
    execute_in(session, _LEAVE, gone, provider=present.provider_id)
    added = [
        {"resource_provider_id": present.provider_id, "aggregate_id": ids[uuid]}
        for uuid in wanted
        if uuid not in before
    ]
    insert_rows(session, _MEMBER, added)


def raise_members_order(session: Session, aggregate: str, order: int) -> int:
    """Store the order of a change of members unless there is a higher one; return the highest."""
    number = names.aggregate_ids(session, [aggregate])[aggregate]
    last = session.scalars(_ORDER, {"aggregate": number}).one()
    if last < order:
        session.execute(_SET_ORDER, {"number": number, "order": order})
    return max(last, order)


def set_members(
    session: Session, aggregate: str, provider_ids: Collection[int], epoch: int, now: dt.datetime
) -> None:
    """Set the members of an aggregate to exactly these providers, plus those of operators."""
    number = names.aggregate_ids(session, [aggregate])[aggregate]
    members = select(_MEMBER.c.resource_provider_id).where(_MEMBER.c.aggregate_id == number)
    of_hosts = members.where(_MEMBER.c.resource_provider_id.not_in(_OF_OPERATORS))
    wanted = set(provider_ids)
    added = wanted.difference(session.scalars(members))
    gone = set(session.scalars(of_hosts)) - wanted
    if not added and not gone:
        return
    execute_in(session, _REMOVE, gone, aggregate=number)
    rows = [{"resource_provider_id": provider_id, "aggregate_id": number} for provider_id in added]
    insert_rows(session, _MEMBER, rows)
    providers.touch(session, added | gone, epoch, now)
    epochs.publish_facts(session, epoch)
