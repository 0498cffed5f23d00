"""Reshaper: atomic changes of providers' inventories and consumers' allocations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placement.ledger.allocation_transaction import AllocationTransaction, Shape
from placement.ledger.consumer_writes import ConsumerWrite, classes_of, providers_of
from placement.ledger.ledger import Ledger
from placement.ledger.ledger_commit import LedgerCommit
from placement.providers.inventory import Inventory


class Reshaper:
    """Move resources, for example within a tree, together with their allocations."""

    def __init__(self, commit: LedgerCommit) -> None:
        self._commit = commit

    def reshape(
        self,
        inventories: Mapping[str, tuple[int, Mapping[str, Inventory]]],
        writes: Sequence[ConsumerWrite],
    ) -> None:
        """Write providers (UUID -> its generation, all its inventories) and consumers.

        Atomic; raises as ``AllocationTransaction.settle`` does, and ``Invalid`` if there is too
        much.
        """
        self._commit.check_size("inventories", len(inventories))
        self._commit.check_size("consumers", len(writes))
        shapes = {
            uuid: Shape(generation, given) for uuid, (generation, given) in inventories.items()
        }
        self._commit.submit(_Reshape(shapes, writes))


@dataclass(frozen=True)
class _Reshape:
    shapes: Mapping[str, Shape]
    writes: Sequence[ConsumerWrite]

    @property
    def consumers(self) -> Sequence[str]:
        return [write.consumer_uuid for write in self.writes]

    @property
    def providers(self) -> Sequence[str]:
        return [*self.shapes, *providers_of(self.writes)]

    @property
    def classes(self) -> Sequence[str]:
        given = [name for shape in self.shapes.values() for name in shape.inventories]
        return [*given, *classes_of(self.writes)]

    def apply(self, ledger: Ledger) -> None:
        AllocationTransaction(ledger, self.writes, self.shapes).settle()
