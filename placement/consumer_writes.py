"""Writes of consumers as they come over REST: several as one, in the order of their generations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from armillary import exception
from placement.ledger import Ledger
from placement.ledger_commit import LedgerCommit
from placement.settlement import ANY, UNKNOWN_TYPE, ConsumerWrite, Settlement

__all__ = ["ANY", "UNKNOWN_TYPE", "ConsumerWrite", "ConsumerWriter"]


class ConsumerWriter:
    """Writes what consumers hold. Fences are for claims: these neither heed nor raise them."""

    def __init__(self, commit: LedgerCommit) -> None:
        self._commit = commit

    def put(self, writes: Sequence[ConsumerWrite]) -> None:
        """Write all of them, or none; what one gives back, another may take.

        Raises as ``Settlement.settle`` does; ``Invalid`` when they are too many.
        """
        self._commit.check_size("consumers", len(writes))
        self._commit.submit(_Put(writes))

    def delete(self, consumer: str) -> None:
        """Drop all that a consumer holds. Raises ``ConsumerNotFound`` when that is nothing."""
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
        Settlement(ledger, self.writes).settle()


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
    """Return the providers that writes name."""
    return [provider for write in writes for provider in write.allocations]


def classes_of(writes: Sequence[ConsumerWrite]) -> list[str]:
    """Return the resource classes that writes name."""
    return [
        name for write in writes for resources in write.allocations.values() for name in resources
    ]
