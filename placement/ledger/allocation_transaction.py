"""Allocation transaction: atomic write of consumers' allocations and providers' inventories.

Concurrency is optimistic: a write names the generations that it read, and is refused with a
conflict if one has changed. Like the ledger, a transaction does no I/O. It checks the final state:
what one consumer gives up, another may take. A refused transaction leaves the ledger unchanged.
"""

import enum
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from armillary import exception
from placement.ledger.ledger import Account, Amounts, Holding, Ledger, Provider
from placement.providers import names
from placement.providers.inventory import Inventory

UNKNOWN_TYPE = "unknown"
"""Type of consumers created without one; this name cannot be requested."""

RESHAPE_STEPS = 2
"""A reshape increments a provider's generation by two, or by one if it takes all its inventories.

It is one more if allocations on it are written. Clients of the Placement API rely on this.
"""


class _Any(enum.Enum):
    ANY = enum.auto()


ANY: Final = _Any.ANY
"""Matches any generation of a consumer."""

Generation = int | None | Literal[_Any.ANY]


@dataclass(frozen=True)
class ConsumerWrite:
    """New allocations of a consumer (none: {}), replacing all it has.

    ``generation`` must be the current one (None: the consumer must be new). Without a
    ``consumer_type`` it keeps its own, or gets ``UNKNOWN_TYPE``. ``is_incomplete`` means that its
    project and user are placeholders for a consumer without any.
    """

    consumer_uuid: str
    allocations: Amounts
    project_id: str
    user_id: str
    consumer_type: str | None = None
    generation: Generation = ANY
    is_incomplete: bool = False


@dataclass(frozen=True)
class Shape:
    """All new inventories of a provider, and its current generation."""

    generation: int
    inventories: Mapping[str, Inventory]


@dataclass(frozen=True)
class AllocationTransaction:
    """Writes of consumers and inventories of providers by UUID, applied atomically."""

    ledger: Ledger
    writes: Sequence[ConsumerWrite]
    shapes: Mapping[str, Shape] = field(default_factory=dict)

    def __post_init__(self) -> None:
        consumers = {write.consumer_uuid for write in self.writes}
        assert len(consumers) == len(self.writes), "a consumer is written only once"

    def settle(self) -> None:
        """Apply all writes.

        Raises ``ResourceProviderNotFound``, ``ResourceProviderGenerationConflict``,
        ``ConsumerGenerationConflict``, ``ResourceClassNotFound``, ``CapacityExceeded``,
        ``InventoryInUse``; then nothing is applied.
        """
        self._check_providers()
        self._check_consumers()
        self._check_names()
        self._check_amounts()
        self._check_in_use()
        self._book()

    def _check_providers(self) -> None:
        for uuid, shape in self.shapes.items():
            provider = self._provider(uuid)
            if provider.generation != shape.generation:
                raise exception.ResourceProviderGenerationConflict(
                    f"resource provider generation conflict for {uuid}: "
                    f"actual: {provider.generation}, given: {shape.generation}",
                    provider=uuid,
                )

    def _check_consumers(self) -> None:
        for write in self.writes:
            holding = self.ledger.holdings[write.consumer_uuid]
            present = holding.generation if holding else None
            if write.generation not in (ANY, present):
                raise exception.ConsumerGenerationConflict(
                    f"consumer generation conflict - expected {_shown(present)} "
                    f"but got {_shown(write.generation)}: consumer {write.consumer_uuid}",
                    consumer=write.consumer_uuid,
                )

    def _check_names(self) -> None:
        for _, provider, name, _ in self._entries():
            if name not in self._provider(provider).accounts:
                self._check_class(name)
        for shape in self.shapes.values():
            for name in shape.inventories:
                self._check_class(name)

    def _check_class(self, name: str) -> None:
        if name not in self.ledger.classes and not names.is_standard_class(name):
            raise exception.ResourceClassNotFound(resource_class=name)

    def _check_amounts(self) -> None:
        asked = Counter[tuple[str, str]]()
        for _, provider, name, amount in self._entries():
            asked[provider, name] += amount
        held = self._held()
        taken = Counter[tuple[str, str]]()
        for _, provider, name, amount in self._entries():
            key = provider, name
            account = self._account(provider, name)
            if account is None:
                raise exception.NothingToAllocate(resource_class=name, provider=provider)
            used = account.used - held[key]
            if asked[key] <= held[key]:  # reduces usage: never refused, even if overcommitted
                used = min(used, account.inventory.capacity - asked[key])
            _check_amount(account.inventory, provider, name, amount, used + taken[key])
            taken[key] += amount

    def _check_in_use(self) -> None:
        held = self._held()
        for uuid, shape in self.shapes.items():
            for name, account in self._provider(uuid).accounts.items():
                if name not in shape.inventories and account.used > held[uuid, name]:
                    raise exception.InventoryInUse(resource_class=name, provider=uuid)

    def _book(self) -> None:
        for uuid, shape in self.shapes.items():
            self._open_accounts(self._provider(uuid), shape.inventories)
        for write in self.writes:
            self._book_write(write)
        for uuid, shape in self.shapes.items():
            provider = self._provider(uuid)
            for name in provider.accounts.keys() - shape.inventories.keys():
                del provider.accounts[name]
            provider.increment_generation(RESHAPE_STEPS if shape.inventories else 1)

    def _open_accounts(self, provider: Provider, inventories: Mapping[str, Inventory]) -> None:
        if provider.stored_inventories is None:
            provider.stored_inventories = {
                name: account.inventory for name, account in provider.accounts.items()
            }
        for name, inventory in inventories.items():
            account = provider.accounts.get(name)
            if account is None:
                provider.accounts[name] = Account(None, inventory, used=0)
            else:
                account.inventory = inventory

    def _book_write(self, write: ConsumerWrite) -> None:
        held = self.ledger.holdings[write.consumer_uuid]
        if write.allocations:
            self.ledger.hold(write.consumer_uuid, _holding(write, held))
            self.ledger.increment_generation(write.allocations)
        elif held is not None:
            self.ledger.hold(write.consumer_uuid, None)
            self.ledger.increment_generation(held.amounts)

    def _entries(self) -> Iterator[tuple[ConsumerWrite, str, str, int]]:
        """Yield each requested amount, with its write, its provider and its class."""
        for write in self.writes:
            for provider, resources in write.allocations.items():
                for name, amount in resources.items():
                    yield write, provider, name, amount

    def _held(self) -> Counter[tuple[str, str]]:
        """Return the consumers' current allocations, by provider and class."""
        held = Counter[tuple[str, str]]()
        for write in self.writes:
            holding = self.ledger.holdings[write.consumer_uuid]
            for provider, resources in (holding.amounts if holding else {}).items():
                for name, amount in resources.items():
                    held[provider, name] += amount
        return held

    def _provider(self, uuid: str) -> Provider:
        provider = self.ledger.providers.get(uuid)
        if provider is None:
            raise exception.ResourceProviderNotFound(provider=uuid)
        return provider

    def _account(self, uuid: str, name: str) -> Account | None:
        """Return a provider's new inventory of a class, with its current usage."""
        account = self._provider(uuid).accounts.get(name)
        if uuid not in self.shapes:
            return account
        inventory = self.shapes[uuid].inventories.get(name)
        if inventory is None:
            return None
        return Account(None, inventory, account.used if account else 0)


def _check_amount(inventory: Inventory, provider: str, name: str, amount: int, used: int) -> None:
    reason = inventory.refusal(amount, used)
    if reason is None:
        return
    free = inventory.capacity - used
    if amount > free:
        reason += ". The requested amount would exceed the capacity"
    raise exception.CapacityExceeded(
        resource_class=name, provider=provider, reason=reason, asked=amount, free=max(0, free)
    )


def _holding(write: ConsumerWrite, held: Holding | None) -> Holding:
    is_kept = held is not None and write.is_incomplete
    return Holding(
        consumer_type=write.consumer_type or (held.consumer_type if held else UNKNOWN_TYPE),
        project_id=held.project_id if held and is_kept else write.project_id,
        user_id=held.user_id if held and is_kept else write.user_id,
        amounts=write.allocations,
        generation=held.generation if held else 0,
        place=held.place if held else None,
    )


def _shown(generation: Generation) -> str:
    return "null" if generation is None else str(generation)
