"""Writes of consumers over REST: several in one request, checked by generation; reshapes."""

from collections.abc import Mapping, Sequence

from armillary import exception
from armillary.db.changes_once import ChangeOnce
from placement.ledger.allocation_transaction import (
    ANY,
    UNKNOWN_TYPE,
    AllocationTransaction,
    ConsumerWrite,
    Shape,
)
from placement.ledger.ledger import Ledger
from placement.ledger.ledger_commit import LedgerCommit, Work
from placement.providers.inventory import Inventory

__all__ = ["ANY", "UNKNOWN_TYPE", "ConsumerWrite", "ConsumerWriter"]


class ConsumerWriter:
    """Write consumers' allocations. Fences apply to claims only and are ignored here."""

    def __init__(self, commit: LedgerCommit) -> None:
        self._commit = commit

    def put(self, writes: Sequence[ConsumerWrite], *, once: ChangeOnce | None = None) -> None:
        """Write all consumers, or none; what one gives up, another may take.

        Does nothing if that was done ``once``. Raises as ``AllocationTransaction.settle`` does;
        ``Invalid`` if there are too many.
        """
        self.reshape({}, writes, once=once)

    def delete(self, consumer: str) -> None:
        """Delete all allocations of a consumer. Raises ``ConsumerNotFound`` if it has none."""

        def apply(ledger: Ledger) -> None:
            if ledger.holdings[consumer] is None:
                raise exception.ConsumerNotFound(consumer=consumer)
            ledger.hold(consumer, None)

        self._commit.submit(Work(apply, consumers=[consumer]))

    def reshape(
        self,
        inventories: Mapping[str, tuple[int, Mapping[str, Inventory]]],
        writes: Sequence[ConsumerWrite],
        *,
        once: ChangeOnce | None = None,
    ) -> None:
        """Write providers (UUID -> its generation, all its inventories) and consumers.

        Atomic; does nothing if that was done ``once``. Raises as ``put`` does.
        """
        self._commit.check_size("inventories", len(inventories))
        self._commit.check_size("consumers", len(writes))
        shapes = {uuid: Shape(*each) for uuid, each in inventories.items()}
        classes = {name for shape in shapes.values() for name in shape.inventories}
        for write in writes:
            classes.update(*write.allocations.values())
        work = Work(
            lambda ledger: AllocationTransaction(ledger, writes, shapes).settle(),
            consumers=[write.consumer_uuid for write in writes],
            providers=[*shapes, *(provider for write in writes for provider in write.allocations)],
            classes=classes,
            once=once,
        )
        self._commit.submit(work)
