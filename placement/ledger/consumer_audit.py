"""Consumers of providers, and release of consumers that have not changed since they were read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from armillary import exception
from armillary.db import Database
from placement.db import provider_allocations
from placement.ledger.ledger import Ledger
from placement.ledger.ledger_commit import LedgerCommit
from placement.providers import names

PROVIDERS_MAX = 1000

Held = dict[str, Any]
"""``generation`` and ``consumer_type`` of a consumer, ``resources``: class -> amount."""


class ConsumerAudit:
    """Reads and repairs for audits."""

    def __init__(self, database: Database, commit: LedgerCommit) -> None:
        self._database = database
        self._commit = commit

    def get(self, providers: Sequence[str]) -> dict[str, dict[str, Held]]:
        """Return provider -> consumer -> its allocations, for providers with allocations.

        Raises ``Invalid`` for more than ``PROVIDERS_MAX`` providers.
        """
        if len(providers) > PROVIDERS_MAX:
            raise exception.Invalid(
                reason=f"{len(providers)} providers were given; at most {PROVIDERS_MAX} are allowed"
            )
        with self._database.reader() as session:
            rows = provider_allocations.list_of(session, set(providers))
        found: dict[str, dict[str, Held]] = {}
        for row in rows:
            held = found.setdefault(row.provider_uuid, {}).setdefault(
                row.uuid,
                {
                    "generation": row.generation,
                    "consumer_type": row.consumer_type,
                    "resources": {},
                },
            )
            held["resources"][row.resource_class] = row.amount
        return found

    def release_unchanged(self, consumers: Mapping[str, int]) -> list[str]:
        """Delete all allocations of consumers whose generation is unchanged.

        Returns, sorted, the consumers that have no allocations now. Raises ``Invalid`` for invalid
        UUIDs or too many consumers.
        """
        self._commit.check_size("consumers", len(consumers))
        for consumer in consumers:
            if not names.is_uuid(consumer):
                raise exception.Invalid(
                    reason=f"a consumer must be named by its UUID, not by {consumer!r}"
                )
        released: list[str] = self._commit.submit(_ReleaseUnchanged(consumers))
        return released


@dataclass(frozen=True)
class _ReleaseUnchanged:
    generations: Mapping[str, int]
    providers: ClassVar[Sequence[str]] = ()
    classes: ClassVar[Sequence[str]] = ()

    @property
    def consumers(self) -> Sequence[str]:
        return list(self.generations)

    def apply(self, ledger: Ledger) -> list[str]:
        released = []
        for consumer, generation in sorted(self.generations.items()):
            holding = ledger.holdings[consumer]
            if holding is not None:
                if holding.generation != generation:
                    continue
                ledger.hold(consumer, None)
                ledger.increment_generation(holding.amounts)
            released.append(consumer)
        return released
