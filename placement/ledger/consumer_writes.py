"""Writes of consumers received over REST: several at once, checked by generation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from armillary import exception
from placement.ledger.allocation_transaction import (
    ANY,
    UNKNOWN_TYPE,
    AllocationTransaction,
    ConsumerWrite,
)
from placement.ledger.ledger import Ledger
from placement.ledger.ledger_commit import LedgerCommit

__all__ = ["ANY", "UNKNOWN_TYPE", "ConsumerWrite", "ConsumerWriter"]


class ConsumerWriter:
    """Write consumers' allocations. Fences apply to claims only and are ignored here."""

    def __init__(self, commit: LedgerCommit) -> None:
        self._commit = commit

    def put(self, writes: Sequence[ConsumerWrite]) -> None:
        """Write all consumers, or none; what one gives up, another may take.

        Raises as ``AllocationTransaction.settle`` does; ``Invalid`` if there are too many.
        """
        self._commit.check_size("consumers", len(writes))
        self._commit.submit(_Put(writes))

    def delete(self, consumer: str) -> None:
        """Delete all allocations of a consumer. Raises ``ConsumerNotFound`` if it has none."""
        self._commit.submit(_Delete(consumer))


@dataclass(frozen=True)
class _Put:
    writes: Sequence[ConsumerWrite]

    @property
    def consumers(self) -> Sequence[str]:
        return [write.consumer_uuid for write in self.writes]

    @property
    def providers(self) -> Sequence[str]:
        return providers_of(self.writes)

    @property
    def classes(self) -> Sequence[str]:
        return classes_of(self.writes)

    def apply(self, ledger: Ledger) -> None:
        AllocationTransaction(ledger, self.writes).settle()


@dataclass(frozen=True)
class _Delete:
    consumer: str
    providers: ClassVar[Sequence[str]] = ()
    classes: ClassVar[Sequence[str]] = ()

    @property
    def consumers(self) -> Sequence[str]:
        return [self.consumer]

    def apply(self, ledger: Ledger) -> None:
        if ledger.holdings[self.consumer] is None:
            raise exception.ConsumerNotFound(consumer=self.consumer)
        ledger.hold(self.consumer, None)


def providers_of(writes: Sequence[ConsumerWrite]) -> list[str]:
    """Return the providers that the writes name."""
    return [provider for write in writes for provider in write.allocations]


def classes_of(writes: Sequence[ConsumerWrite]) -> list[str]:
    """Return the resource classes that the writes name."""
    return [
        name for write in writes for resources in write.allocations.values() for name in resources
    ]
