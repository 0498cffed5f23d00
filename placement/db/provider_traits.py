"""Queries on the traits of providers."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Set
from dataclasses import dataclass, field

from sqlalchemy import bindparam, delete, select
from sqlalchemy.orm import Session

from placement.db import names
from placement.db.models import ResourceProvider, ResourceProviderTrait, Trait
from placement.db.statements import any_of, execute_in, in_lists, insert_rows

_MEMBER = ResourceProviderTrait.table()
_TRAITS = (
    select(
        ResourceProvider.id,
        ResourceProvider.uuid,
        ResourceProvider.generation,
        ResourceProvider.updated_at,
        Trait.name,
    )
    .outerjoin(
        ResourceProviderTrait, ResourceProviderTrait.resource_provider_id == ResourceProvider.id
    )
    .outerjoin(Trait, Trait.id == ResourceProviderTrait.trait_id)
    .where(ResourceProvider.uuid == bindparam("uuid"))
)
_WITH_TRAIT = (
    select(ResourceProvider.uuid)
    .join(ResourceProviderTrait, ResourceProviderTrait.resource_provider_id == ResourceProvider.id)
    .join(Trait, Trait.id == ResourceProviderTrait.trait_id)
    .where(Trait.name == bindparam("trait"), ResourceProvider.uuid.in_(any_of()))
)
_DELETE = delete(_MEMBER).where(
    _MEMBER.c.trait_id == bindparam("trait_id"), _MEMBER.c.resource_provider_id.in_(any_of())
)


def with_trait(session: Session, uuids: Iterable[str], trait: str) -> set[str]:
    """Return those of these providers that have a trait."""
    found: set[str] = set()
    for part in in_lists(uuids):
        found.update(session.scalars(_WITH_TRAIT, {"trait": trait, "any_of": part}))
    return found


@dataclass(slots=True)
class ProviderTraits:
    """The traits of a provider, from one snapshot."""

    id: int
    uuid: str
    generation: int
    updated_at: dt.datetime
    traits: set[str] = field(default_factory=set)


def find(session: Session, uuid: str) -> ProviderTraits | None:
    """Return the traits of a provider, if it exists.

    A single query, so that they match their generation even without a lock.
    """
    rows = session.execute(_TRAITS, {"uuid": uuid}).all()
    if not rows:
        return None
    traits = {row.name for row in rows if row.name is not None}
    return ProviderTraits(*rows[0][:4], traits)


def store(
    session: Session, changes: Iterable[tuple[int, Set[str], Set[str]]], now: dt.datetime
) -> None:
    """Write the differences, given provider ids with present and new traits.

    Requires the epoch's lock. The caller touches the providers.
    """
    added: list[tuple[int, str]] = []
    gone: dict[str, list[int]] = defaultdict(list)
    for number, before, after in changes:
        added.extend((number, name) for name in after - before)
        for name in before - after:
            gone[name].append(number)
    ids = names.trait_ids(session, {name for _, name in added} | gone.keys(), now)
    for name, numbers in gone.items():
        execute_in(session, _DELETE, numbers, trait_id=ids[name])
    rows = [{"resource_provider_id": number, "trait_id": ids[name]} for number, name in added]
    insert_rows(session, _MEMBER, rows)
