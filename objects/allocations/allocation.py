"""Allocations in placement: a claim and its outcome, and what audits and totals read."""

import dataclasses

from objects.instances.group_claim import GroupClaim


class ClaimStatus:
    """Outcomes of a claim; all except CLAIMED leave the allocations unchanged."""

    CLAIMED = "claimed"
    NO_CAPACITY = "no_capacity"
    NO_PROVIDER = "no_provider"
    CONFLICT = "conflict"
    """The consumer holds other allocations, and the claim does not replace them."""
    FENCED = "fenced"
    """A later attempt, or a delete, has already written."""
    GROUP_CHANGED = "group_changed"
    """Members of the consumer's server group are where the claim must not meet them."""
    FOREIGN = "foreign"
    """The consumer, or a provider, belongs to another cell than the conductor that claims."""


ALREADY_HELD = "the consumer holds this already"
"""Reason of a successful claim that did not have to write anything."""


Allocations = dict[str, dict[str, dict[str, int]]]
"""Provider -> "resources" -> class -> amount."""


@dataclasses.dataclass(frozen=True, slots=True)
class AllocationClaim:
    """Allocations to write for one consumer, all or nothing.

    Writing the same allocations twice succeeds both times. ``replace`` swaps the consumer's
    allocations for these atomically. A claim is refused if its ``fence`` (a
    :class:`~objects.allocations.fence.Fence` as an integer) is below the highest one seen for the
    consumer. ``group`` is the claim's part in the server group of its consumer.
    """

    consumer_uuid: str
    project_id: str
    user_id: str
    allocations: Allocations
    fence: int = 0
    consumer_type: str = "INSTANCE"
    replace: bool = False
    group: GroupClaim | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ClaimResult:
    """Outcome of one claim: a value of ``ClaimStatus``, with a reason if it was refused.

    A successful claim has no reason, or ``ALREADY_HELD``.
    """

    consumer_uuid: str
    status: str = ClaimStatus.CLAIMED
    reason: str | None = None

    @property
    def is_claimed(self) -> bool:
        """Whether the claim was successful."""
        return self.status == ClaimStatus.CLAIMED

    @property
    def is_already_held(self) -> bool:
        """Whether the claim succeeded without having to write anything."""
        return self.is_claimed and self.reason == ALREADY_HELD


@dataclasses.dataclass(frozen=True, slots=True)
class ProviderAllocation:
    """What a consumer has of one provider; ``resources`` maps classes to amounts.

    ``updated_at`` is when the consumer changed, as ISO text in UTC.
    """

    consumer_uuid: str
    consumer_type: str
    project_id: str
    user_id: str
    provider_uuid: str
    provider_name: str
    updated_at: str
    resources: dict[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class ConsumerHolding:
    """What a consumer has of one provider, with the consumer's generation."""

    generation: int
    consumer_type: str
    resources: dict[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class ClassUsage:
    """Usage of a resource class, and the capacity for it, of all providers."""

    used: int
    capacity: int


@dataclasses.dataclass(frozen=True, slots=True)
class UsageTotals:
    """Number of consumers and providers, and the usage of each resource class."""

    consumers: int
    providers: int
    resources: dict[str, ClassUsage]


@dataclasses.dataclass(frozen=True, slots=True)
class AllocationPage:
    """A page of all allocations, ordered by consumer, and the totals of all."""

    allocations: list[ProviderAllocation]
    totals: UsageTotals
