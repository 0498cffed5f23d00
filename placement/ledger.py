"""The ledger: what consumers hold and providers have, and what claims, releases, moves make of it.

Pure: it is filled from fresh rows, decides one piece of work after the other as if each were alone,
and in the end knows what has to be written. What it refuses leaves no mark on it. Writes of several
consumers as one, and of inventories with them, are a ``Settlement``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from armillary import exception
from objects.allocation import HELD_BEFORE, ClaimStatus
from objects.claim_batch import AnyClaim, Claimed
from placement.inventory import Inventory

Amounts = dict[str, dict[str, int]]
"""Provider UUID -> resource class -> amount."""


@dataclass(frozen=True)
class Holding:
    """A consumer, and what it holds; generation 0 is one that is not there yet."""

    consumer_type: str
    project_id: str
    user_id: str
    amounts: Amounts
    generation: int = 0


@dataclass
class Account:
    """What a provider has of a class, and how much of that is used now.

    ``resource_class_id`` is None for a class that has no number yet.
    """

    resource_class_id: int | None
    inventory: Inventory
    used: int

    def refusal(self, amount: int, given_back: int) -> str | None:
        """Return why ``amount`` cannot be taken in exchange for what is given back, or None.

        Who takes no more than that is never refused for want of capacity: a provider that has
        less than is used of it may always be given back to.
        """
        used = self.used - given_back
        if amount <= given_back:
            used = min(used, self.inventory.capacity - amount)
        return self.inventory.refusal(amount, used)


@dataclass
class Provider:
    """A provider as it is now, its accounts by class.

    ``steps`` tells by how much its generation rises, ``stored_inventories`` what it had before it
    was reshaped (None: it was not).
    """

    id: int
    name: str
    accounts: dict[str, Account] = field(default_factory=dict)
    generation: int = 0
    steps: int = 0
    stored_inventories: Mapping[str, Inventory] | None = None

    def rise(self, steps: int = 1) -> None:
        """Let the generation rise."""
        self.generation += steps
        self.steps += steps


@dataclass
class Ledger:
    """Consumers by UUID (None: holds nothing), their fences, providers by UUID.

    It must know everything its work names: each consumer, and each provider that is there and is
    either claimed or held by one of these. ``classes`` are those custom resource classes that the
    work names and that are there.
    """

    holdings: dict[str, Holding | None]
    fences: dict[str, int]
    providers: dict[str, Provider]
    classes: frozenset[str] = frozenset()
    changed_consumers: set[str] = field(default_factory=set)
    changed_fences: set[str] = field(default_factory=set)
    changed_accounts: set[tuple[str, str]] = field(default_factory=set)
    stored_consumers: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        holdings = self.holdings.items()
        self.stored_consumers = frozenset(uuid for uuid, holding in holdings if holding is not None)

    @property
    def changed_providers(self) -> set[str]:
        """The providers whose generation rises."""
        return {uuid for uuid, provider in self.providers.items() if provider.steps}

    def claim(self, claim: AnyClaim) -> Claimed:
        """Write the allocations of one claim, or say why not."""
        amounts = _amounts(claim)
        status, reason = self._judge(claim, amounts)
        if status == ClaimStatus.CLAIMED:
            self._raise_fence(claim.consumer_uuid, claim.fence)
            self._take(claim, amounts)
        return Claimed(claim.consumer_uuid, status, reason)

    def release(self, consumer: str, fence: int) -> None:
        """Drop what a consumer holds, unless this comes late: a higher fence was here."""
        if self._is_late(consumer, fence):
            return
        if fence > 0:
            self._set_fence(consumer, fence)  # even the same one: it is kept for a day from now on
        holding = self.holdings[consumer]
        if holding is not None:
            self.hold(consumer, None)
            self.rise(holding.amounts)

    def move(
        self,
        source: str,
        target: str,
        fence: int,
        *,
        is_replacing: bool = False,
        consumer_type: str | None = None,
    ) -> None:
        """Give all that one consumer holds to another; ``is_replacing`` what that one holds.

        Nothing is taken that was not held before, so there is room for it. Raises as
        ``PlacementAPI.move_allocations`` says.
        """
        given, held = self.holdings[source], self.holdings[target]
        if given is None and held is None:
            raise exception.ConsumerNotFound(consumer=source)
        if given is not None:
            if (held is not None and not is_replacing) or self._is_late(target, fence):
                raise exception.ConsumerGenerationConflict(consumer=target)
            if self._is_late(source, fence):
                raise exception.ConsumerGenerationConflict(consumer=source)
            self._hand_over(
                source,
                target,
                replace(
                    given,
                    consumer_type=consumer_type or given.consumer_type,
                    generation=held.generation if held else 0,
                ),
            )
        self._raise_fence(source, fence)
        self._raise_fence(target, fence)

    def hold(self, consumer: str, holding: Holding | None) -> None:
        """Let a consumer hold this instead of what it holds; None: nothing. Nothing is checked."""
        before = self.holdings[consumer]
        given_back = before.amounts if before else {}
        taken = holding.amounts if holding else {}
        if given_back != taken:
            self._book(given_back, sign=-1)
            self._book(taken, sign=1)
        self._put(consumer, holding)

    def rise(self, providers: Iterable[str]) -> None:
        """Let the generations of providers rise: once, however much is written at a time."""
        for uuid in providers:
            if not self.providers[uuid].steps:
                self.providers[uuid].rise()

    def _judge(self, claim: AnyClaim, amounts: Amounts) -> tuple[str, str | None]:
        if self._is_late(claim.consumer_uuid, claim.fence):
            seen = self.fences[claim.consumer_uuid]
            return ClaimStatus.FENCED, f"fence {seen} was seen, this is a late claim {claim.fence}"
        holding = self.holdings[claim.consumer_uuid]
        held: Amounts = holding.amounts if holding else {}
        if held == amounts:
            return ClaimStatus.CLAIMED, HELD_BEFORE
        if held and not claim.replace:
            return ClaimStatus.CONFLICT, "the consumer holds other allocations"
        for provider, resources in amounts.items():
            if provider not in self.providers:
                return ClaimStatus.NO_PROVIDER, f"there is no provider {provider}"
            refusal = self._refusal(provider, resources, held.get(provider, {}))
            if refusal is not None:
                return ClaimStatus.NO_CAPACITY, refusal
        return ClaimStatus.CLAIMED, None

    def _refusal(
        self, provider_uuid: str, resources: Mapping[str, int], given_back: Mapping[str, int]
    ) -> str | None:
        provider = self.providers[provider_uuid]
        for name, amount in resources.items():
            account = provider.accounts.get(name)
            if account is None:
                return f"{provider.name} has no {name}"
            refusal = account.refusal(amount, given_back.get(name, 0))
            if refusal is not None:
                return f"{name} on {provider.name}: {refusal}"
        return None

    def _take(self, claim: AnyClaim, amounts: Amounts) -> None:
        holding = self.holdings[claim.consumer_uuid]
        if holding is not None and holding.amounts == amounts:
            return
        held = Holding(
            consumer_type=claim.consumer_type,
            project_id=claim.project_id,
            user_id=claim.user_id,
            amounts=amounts,
            generation=holding.generation if holding else 0,
        )
        self.hold(claim.consumer_uuid, held)
        self.rise([*amounts, *(holding.amounts if holding else ())])

    def _hand_over(self, source: str, target: str, given: Holding) -> None:
        held = self.holdings[target]
        if held is not None:
            self._book(held.amounts, sign=-1)
        self._put(source, None)
        self._put(target, given)
        self.rise([*given.amounts, *(held.amounts if held else ())])

    def _put(self, consumer: str, holding: Holding | None) -> None:
        if holding is not None:
            holding = replace(holding, generation=holding.generation + 1)
        self.holdings[consumer] = holding
        self.changed_consumers.add(consumer)

    def _book(self, amounts: Amounts, *, sign: int) -> None:
        for provider, resources in amounts.items():
            for name, amount in resources.items():
                self.providers[provider].accounts[name].used += sign * amount
                self.changed_accounts.add((provider, name))

    def _is_late(self, consumer: str, fence: int) -> bool:
        return fence < self.fences.get(consumer, 0)

    def _raise_fence(self, consumer: str, fence: int) -> None:
        if fence > self.fences.get(consumer, 0):
            self._set_fence(consumer, fence)

    def _set_fence(self, consumer: str, fence: int) -> None:
        self.fences[consumer] = fence
        self.changed_fences.add(consumer)


def _amounts(claim: AnyClaim) -> Amounts:
    return {provider: dict(item["resources"]) for provider, item in claim.allocations.items()}
