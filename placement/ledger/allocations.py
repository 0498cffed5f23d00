"""Reads of allocations: by consumer, by provider, and all of them page by page."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.orm import Session

from armillary import exception
from armillary.db import Database
from objects.allocations.allocation import ConsumerHolding, ProviderAllocation
from objects.instances.group_claim import GroupMember
from placement.db import consumers as queries
from placement.db.providers import owners as owners_of
from placement.db.statements import AnyRow
from placement.ownership import CellWriter

PAGE_SIZE_MAX = 10_000
PROVIDERS_MAX = 1000

Resources = dict[str, dict[str, int]]


@dataclass
class ConsumerRecord:
    """A consumer, the generations of its providers, and its allocations on each, by class."""

    uuid: str
    generation: int
    consumer_type: str
    project_id: str
    user_id: str
    updated_at: dt.datetime
    provider_generations: dict[str, int] = field(default_factory=dict)
    amounts: Resources = field(default_factory=dict)


@dataclass
class ProviderAllocations:
    """Allocations on a provider: consumer -> class -> amount, and the consumers' generations.

    ``updated_at`` is None if there are no allocations.
    """

    generation: int
    updated_at: dt.datetime | None = None
    consumer_generations: dict[str, int] = field(default_factory=dict)
    amounts: Resources = field(default_factory=dict)


class AllocationReader:
    """Read allocations from the database, never from memory."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list_group_members(self, group_uuid: str) -> list[GroupMember]:
        """Return the members of a server group that have allocations, also while they move."""
        places = self._database.read(queries.list_group_places, group_uuid)
        return [GroupMember(each.member_uuid, each.host, each.epoch) for each in places]

    def get(
        self, consumers: Sequence[str], cell: CellWriter | None = None
    ) -> dict[str, dict[str, Resources]]:
        """Return consumer -> provider -> "resources" -> class -> amount.

        A ``cell`` sees its own consumers: those on a provider of it, and those that move to or from
        it.
        """
        found: dict[str, dict[str, Resources]] = {}
        with self._database.reader() as session:
            rows = queries.get_allocations(session, set(consumers))
            own = None if cell is None else _own_consumers(session, rows, cell)
        for row in rows:
            if own is not None and row.uuid not in own:
                continue
            provider = found.setdefault(row.uuid, {}).setdefault(row.provider_uuid, {})
            provider.setdefault("resources", {})[row.resource_class] = row.amount
        return found

    def find(self, consumer: str) -> ConsumerRecord | None:
        """Return a consumer with all its allocations; None if it has none."""
        rows = self._database.read(queries.get_allocations, [consumer])
        if not rows:
            return None
        record = ConsumerRecord(
            uuid=rows[0].uuid,
            generation=rows[0].generation,
            consumer_type=rows[0].consumer_type,
            project_id=rows[0].project_id,
            user_id=rows[0].user_id,
            updated_at=rows[0].updated_at,
        )
        for row in rows:
            record.provider_generations[row.provider_uuid] = row.provider_generation
            record.amounts.setdefault(row.provider_uuid, {})[row.resource_class] = row.amount
        return record

    def get_of_provider(self, provider: str) -> ProviderAllocations:
        """Return the allocations on a provider. Raises ``ResourceProviderNotFound``."""
        rows = self._database.read(queries.get_allocations_of, provider)
        if not rows:
            raise exception.ResourceProviderNotFound(provider=provider)
        found = ProviderAllocations(rows[0].provider_generation)
        for row in rows:
            if row.uuid is None:
                continue
            found.updated_at = max(found.updated_at or row.updated_at, row.updated_at)
            found.consumer_generations[row.uuid] = row.generation
            found.amounts.setdefault(row.uuid, {})[row.resource_class] = row.amount
        return found

    def get_of_providers(
        self, providers: Sequence[str], cell: CellWriter | None = None
    ) -> dict[str, dict[str, ConsumerHolding]]:
        """Return provider -> consumer -> its allocations, for providers with allocations.

        A ``cell`` sees its own providers. Raises ``Invalid`` for more than ``PROVIDERS_MAX`` of
        them.
        """
        if len(providers) > PROVIDERS_MAX:
            raise exception.Invalid(
                reason=f"{len(providers)} providers were given; at most {PROVIDERS_MAX} are allowed"
            )
        with self._database.reader() as session:
            asked = set(providers)
            if cell is not None:
                owners = owners_of(session, asked)
                asked = {uuid for uuid, owner in owners.items() if cell.owns(owner)}
            rows = queries.get_allocations_of_many(session, asked)
        found: dict[str, dict[str, ConsumerHolding]] = {}
        for row in rows:
            held = found.setdefault(row.provider_uuid, {}).setdefault(
                row.uuid, ConsumerHolding(row.generation, row.consumer_type, {})
            )
            held.resources[row.resource_class] = row.amount
        return found

    def list(self, *, marker: str | None, limit: int) -> list[ProviderAllocation]:
        """Return those of the next ``limit`` consumers, one item per consumer and provider."""
        if not 1 <= limit <= PAGE_SIZE_MAX:
            raise exception.Invalid(reason=f"limit must be from 1 to {PAGE_SIZE_MAX}, not {limit}")
        page: dict[tuple[str, str], ProviderAllocation] = {}
        rows = self._database.read(queries.list_allocations, marker=marker, limit=limit)
        for row in rows:
            item = page.setdefault((row.uuid, row.provider_uuid), _item(row))
            item.resources[row.resource_class] = row.amount
        return [*page.values()]


def _own_consumers(session: Session, rows: Sequence[AnyRow], cell: CellWriter) -> set[str]:
    owners = owners_of(session, {row.provider_uuid for row in rows})
    own = {row.uuid for row in rows if cell.owns(owners[row.provider_uuid])}
    others = {row.uuid for row in rows} - own
    return own | set(queries.moving_consumers(session, others, cell.cell_uuid))


def _item(row: Any) -> ProviderAllocation:
    return ProviderAllocation(
        consumer_uuid=row.uuid,
        consumer_type=row.consumer_type,
        project_id=row.project_id,
        user_id=row.user_id,
        provider_uuid=row.provider_uuid,
        provider_name=row.provider_name,
        updated_at=f"{row.updated_at.isoformat()}Z",
        resources={},
    )
