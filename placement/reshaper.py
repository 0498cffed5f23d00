"""The reshaper: inventories of providers and allocations of consumers, changed in one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placement.consumer_writes import ConsumerWrite, classes_of, providers_of
from placement.inventory import Inventory
from placement.ledger import Ledger
from placement.ledger_commit import LedgerCommit
from placement.settlement import Settlement, Shape


class Reshaper:
    """Moves resources within a tree, say, together with what was taken of them."""

    def __init__(self, commit: LedgerCommit) -> None:
        self._commit = commit

    def reshape(
        self,
        inventories: Mapping[str, tuple[int, Mapping[str, Inventory]]],
        writes: Sequence[ConsumerWrite],
    ) -> None:
        """Give providers (UUID -> its generation, all its inventories) and consumers what is new.

        All of it or nothing; raises as ``Settlement.settle`` does, and ``Invalid`` when there is
        too much.
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
        Settlement(ledger, self.writes, self.shapes).settle()
