"""Ledger of allocations and usage, on which claims, releases and moves are decided.

Pure: it is filled from fresh rows, applies one operation after the other, and collects the changes
to write. A refused operation leaves it unchanged. Atomic writes of several consumers and
inventories are an ``AllocationTransaction``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from armillary import exception
from objects.allocations.allocation import ALREADY_HELD, AllocationClaim, ClaimResult, ClaimStatus
from placement.ledger.group_places import GroupPlace, GroupPlaces, place_of
from placement.ownership import ConsumerCells, ConsumerOwner
from placement.providers.inventory import Inventory

Amounts = dict[str, dict[str, int]]
"""Provider UUID -> resource class -> amount."""


@dataclass(frozen=True)
class Holding:
    """A consumer and its allocations; generation 0 means that it does not exist yet.

    ``place`` is that of the server group's member that it stands for.
    """

    consumer_type: str
    project_id: str
    user_id: str
    amounts: Amounts
    generation: int = 0
    place: GroupPlace | None = None


@dataclass
class Account:
    """A provider's inventory of a class, and its current usage.

    ``resource_class_id`` is None for a class without an id yet.
    """

    resource_class_id: int | None
    inventory: Inventory
    used: int

    def refusal(self, amount: int, given_back: int) -> str | None:
        """Return why ``amount`` cannot be taken in exchange for ``given_back``, or None if it can.

        A consumer that takes no more than it gives back is never refused for lack of capacity, even
        if the provider is overcommitted.
        """
        used = self.used - given_back
        if amount <= given_back:
            used = min(used, self.inventory.capacity - amount)
        return self.inventory.refusal(amount, used)


@dataclass
class Provider:
    """A provider's current state, with its accounts by class.

    ``steps`` is the increment of its generation; ``stored_inventories`` are its inventories before
    a reshape (None: not reshaped).
    """

    id: int
    name: str
    accounts: dict[str, Account] = field(default_factory=dict)
    generation: int = 0
    steps: int = 0
    stored_inventories: Mapping[str, Inventory] | None = None
    cell_uuid: str | None = None

    def increment_generation(self, steps: int = 1) -> None:
        """Increment the generation."""
        self.generation += steps
        self.steps += steps


@dataclass
class Ledger:
    """Consumers by UUID (None: no allocations), their fences, and providers by UUID.

    It must contain everything that the work names: each consumer, and each existing provider that
    is claimed or has allocations of these consumers. ``classes`` are the existing custom resource
    classes that the work names, ``cells`` those of the consumers with a fence, ``former_owners``
    whom these counted for when they last had allocations, and ``sharing`` the
    providers without an owner that share their inventories. ``owners_by_name`` are the cells of the
    providers whose names the work gives as hosts, for work by cells. ``groups`` are the server
    groups that the work names, and those of the consumers; ``epoch`` is that of this write.
    """

    holdings: dict[str, Holding | None]
    fences: dict[str, int]
    providers: dict[str, Provider]
    classes: frozenset[str] = frozenset()
    cells: dict[str, ConsumerCells] = field(default_factory=dict)
    former_owners: dict[str, ConsumerOwner] = field(default_factory=dict)
    sharing: frozenset[str] = frozenset()
    owners_by_name: Mapping[str, str | None] = field(default_factory=dict)
    groups: GroupPlaces = field(default_factory=GroupPlaces)
    epoch: int = 0
    changed_consumers: set[str] = field(default_factory=set)
    changed_fences: set[str] = field(default_factory=set)
    changed_accounts: set[tuple[str, str]] = field(default_factory=set)
    stored_consumers: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        holdings = self.holdings.items()
        self.stored_consumers = frozenset(uuid for uuid, holding in holdings if holding is not None)

    def claim(self, claim: AllocationClaim) -> ClaimResult:
        """Write the allocations of one claim, or return why not."""
        amounts = _amounts(claim)
        status, reason = self._decide(claim, amounts)
        if status == ClaimStatus.CLAIMED:
            self._raise_fence(claim.consumer_uuid, claim.fence)
            self._take(claim, amounts)
        return ClaimResult(claim.consumer_uuid, status, reason)

    def release(self, consumer: str, fence: int) -> None:
        """Delete a consumer's allocations, unless a higher fence was seen before."""
        if self._is_late(consumer, fence):
            return
        if fence > 0:
            # even with the same fence: this restarts its retention time
            self._set_fence(consumer, fence)
        holding = self.holdings[consumer]
        if holding is not None:
            self.hold(consumer, None)
            self.increment_generation(holding.amounts)

    def move(
        self,
        source: str,
        target: str,
        fence: int,
        *,
        is_replacing: bool = False,
        consumer_type: str | None = None,
    ) -> None:
        """Move all allocations of a consumer; ``is_replacing`` deletes those of the target.

        The total usage does not grow, so there is always capacity. Raises as
        ``PlacementAPI.move_allocations`` documents.
        """
        given, held = self.holdings[source], self.holdings[target]
        if given is None and held is None:
            raise exception.ConsumerNotFound(consumer=source)
        if given is not None:
            if (held is not None and not is_replacing) or self._is_late(target, fence):
                raise exception.ConsumerGenerationConflict(consumer=target)
            if self._is_late(source, fence):
                raise exception.ConsumerGenerationConflict(consumer=source)
            self._move_holding(
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
        """Replace a consumer's allocations without checks; None: no allocations."""
        before = self.holdings[consumer]
        given_back = before.amounts if before else {}
        taken = holding.amounts if holding else {}
        if given_back != taken:
            self._book(given_back, sign=-1)
            self._book(taken, sign=1)
        self._put(consumer, holding)

    def set_cells(self, consumer: str, cells: ConsumerCells) -> None:
        """Store the cells of a consumer."""
        if self.cells.get(consumer) != cells:
            self.cells[consumer] = cells
            self._set_fence(consumer, self.fences.get(consumer, 0))

    def owner_of(self, consumer: str) -> ConsumerOwner | None:
        """Return a consumer's present or former owner; None if it is not known."""
        holding = self.holdings[consumer]
        if holding is None:
            return self.former_owners.get(consumer)
        return ConsumerOwner(holding.project_id, holding.user_id)

    def increment_generation(self, providers: Iterable[str]) -> None:
        """Increment the generations of providers: once per transaction."""
        for uuid in providers:
            if not self.providers[uuid].steps:
                self.providers[uuid].increment_generation()

    def _decide(self, claim: AllocationClaim, amounts: Amounts) -> tuple[str, str | None]:
        if self._is_late(claim.consumer_uuid, claim.fence):
            seen = self.fences[claim.consumer_uuid]
            return (
                ClaimStatus.FENCED,
                f"fence {seen} was seen, so this claim with fence {claim.fence} is late",
            )
        holding = self.holdings[claim.consumer_uuid]
        held: Amounts = holding.amounts if holding else {}
        if held == amounts:
            return ClaimStatus.CLAIMED, ALREADY_HELD
        if held and not claim.replace:
            return ClaimStatus.CONFLICT, "the consumer has other allocations"
        for provider, resources in amounts.items():
            if provider not in self.providers:
                return ClaimStatus.NO_PROVIDER, f"no provider {provider} exists"
            refusal = self._refusal(provider, resources, held.get(provider, {}))
            if refusal is not None:
                return ClaimStatus.NO_CAPACITY, refusal
        if amounts.keys() <= held.keys():  # moves nowhere
            return ClaimStatus.CLAIMED, None
        return self._decide_group(claim, holding)

    def _decide_group(
        self, claim: AllocationClaim, holding: Holding | None
    ) -> tuple[str, str | None]:
        if claim.group is None:
            return ClaimStatus.CLAIMED, None
        present = holding.place if holding else None
        refusal = self.groups.refusal(claim.consumer_uuid, claim.group, present)
        if refusal is not None:
            return ClaimStatus.GROUP_CHANGED, refusal
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

    def _take(self, claim: AllocationClaim, amounts: Amounts) -> None:
        holding = self.holdings[claim.consumer_uuid]
        if holding is not None and holding.amounts == amounts:
            return
        held = Holding(
            consumer_type=claim.consumer_type,
            project_id=claim.project_id,
            user_id=claim.user_id,
            amounts=amounts,
            generation=holding.generation if holding else 0,
            place=self._place(claim, holding.place if holding else None),
        )
        self.hold(claim.consumer_uuid, held)
        self.increment_generation([*amounts, *(holding.amounts if holding else ())])

    def _place(self, claim: AllocationClaim, present: GroupPlace | None) -> GroupPlace | None:
        if claim.group is None:
            return present
        return place_of(claim.consumer_uuid, claim.group, present, epoch=self.epoch)

    def _move_holding(self, source: str, target: str, given: Holding) -> None:
        held = self.holdings[target]
        if held is not None:
            self._book(held.amounts, sign=-1)
        self._put(source, None)
        self._put(target, given)
        self.increment_generation([*given.amounts, *(held.amounts if held else ())])

    def _put(self, consumer: str, holding: Holding | None) -> None:
        if holding is not None:
            holding = replace(holding, generation=holding.generation + 1)
        self._note_cell(consumer, holding or self.holdings[consumer])
        if holding is None:
            self._note_owner(consumer)
        self.holdings[consumer] = holding
        self.groups.put(consumer, holding.place if holding else None)
        self.changed_consumers.add(consumer)

    def _note_cell(self, consumer: str, holding: Holding | None) -> None:
        """Remember the cell of a consumer, unless it is moving between two."""
        known = self.cells.get(consumer)
        if holding is None or (known is not None and known.other is not None):
            return
        owners = {self.providers[uuid].cell_uuid for uuid in holding.amounts} - {None}
        if len(owners) == 1:
            self.cells[consumer] = ConsumerCells(owners.pop())
            self._restate_fence(consumer, is_changed=self.cells[consumer] != known)

    def _note_owner(self, consumer: str) -> None:
        """Remember the owner of a consumer that is about to lose all allocations."""
        owner = self.owner_of(consumer)
        if owner is not None:
            is_changed = self.former_owners.get(consumer) != owner
            self.former_owners[consumer] = owner
            self._restate_fence(consumer, is_changed=is_changed)

    def _restate_fence(self, consumer: str, *, is_changed: bool) -> None:
        """Mark a consumer's fence, if it has one, so that it is stored with its cell and owner."""
        if is_changed and consumer in self.fences:
            self.changed_fences.add(consumer)

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


def _amounts(claim: AllocationClaim) -> Amounts:
    return {provider: dict(item["resources"]) for provider, item in claim.allocations.items()}
