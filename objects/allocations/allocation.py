"""Allocations in placement: a claim and its outcome, and what audits and totals read."""

import dataclasses

from objects import base, fields
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


@base.ArmillaryObjectRegistry.register
class AllocationClaim(base.ArmillaryObject):
    """Allocations to write for one consumer, all or nothing.

    Writing the same allocations twice succeeds both times. ``replace`` swaps the consumer's
    allocations for these atomically. A claim is refused if its ``fence`` (a
    :class:`~objects.allocations.fence.Fence` as an integer) is below the highest one seen for the
    consumer.
    ``host`` is where the allocations are: a member of a server group stays in it, and the claim is
    refused if the host has the maximum number of members.
    """

    consumer_uuid: str = fields.UUIDField()
    consumer_type: str = fields.StringField(default="INSTANCE")
    project_id: str = fields.StringField()
    user_id: str = fields.StringField()
    allocations: dict[str, dict[str, dict[str, int]]] = fields.JSONField()
    fence: int = fields.IntegerField(default=0)
    replace: bool = fields.BooleanField(default=False)
    host: str | None = fields.StringField(nullable=True)

    @property
    def group(self) -> GroupClaim | None:
        """The claim's part in the server group of its consumer, if it names a host."""
        return None if self.host is None else GroupClaim(self.host)


@base.ArmillaryObjectRegistry.register
class ClaimResult(base.ArmillaryObject):
    """Outcome of one claim: a value of ``ClaimStatus``, with a reason if it was refused.

    A successful claim has no reason, or ``ALREADY_HELD``.
    """

    consumer_uuid: str = fields.UUIDField()
    status: str = fields.StringField()
    reason: str | None = fields.StringField(nullable=True)

    @property
    def is_claimed(self) -> bool:
        """Whether the claim was successful."""
        return self.status == ClaimStatus.CLAIMED


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
