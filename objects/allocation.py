"""AllocationClaim and ClaimResult: a write to placement for one consumer, and how it went."""

from __future__ import annotations

from objects import base, fields

FENCE_STEP = 1000
"""A take-over by the super conductor raises the fence by this.

Attempts within the cell count up by one.
"""

OPERATION_FENCE = 10_000_000
"""Fences of operations on instances begin here, above those of builds and repairs."""

ALTERNATE_PLACE = 690
"""From this place on, in an operation's row of fences, its cell claims: two for each host.

Below it are those of the super conductor: that of the hold, then ``TRY_FENCES`` for each try to
find a host.
"""

TRY_FENCES = 2
"""A scheduler's claims have the fence that it is given, those of its second look the next one.

So each release has a fence below that of every claim that comes after it: one that is delivered
late, or once more, frees nothing that was claimed since.
"""

FENCE_FINAL = 2**31 - 1
"""The fence of a consumer that is being deleted: no claim comes after it."""


def fence_at_rest(operations_total: int) -> int:
    """Return the fence of a write to an instance at rest.

    It is above all of the instance's operations so far, and below those of its next one.
    """
    return OPERATION_FENCE + operations_total * FENCE_STEP + FENCE_STEP - 1


class ClaimStatus:
    """The outcomes of a claim; all but CLAIMED left nothing behind."""

    CLAIMED = "claimed"
    NO_CAPACITY = "no_capacity"
    NO_PROVIDER = "no_provider"
    CONFLICT = "conflict"
    """The consumer holds other allocations and the claim was not to replace them."""
    FENCED = "fenced"
    """A later attempt, or a delete, was here first."""


HELD_BEFORE = "the consumer holds this already"
"""The reason of a claim that stands without having written anything."""


@base.ArmillaryObjectRegistry.register
class AllocationClaim(base.ArmillaryObject):
    """Allocations to write for one consumer, all or nothing.

    Writing the same allocations twice succeeds twice. ``replace`` swaps what the consumer holds for
    these in one step. A claim with a lower ``fence`` than was seen for the consumer is refused.
    """

    VERSION = "1.0"

    fields = {
        "consumer_uuid": fields.UUIDField(),
        "consumer_type": fields.StringField(default="INSTANCE"),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "allocations": fields.JSONField(),
        "fence": fields.IntegerField(default=0),
        "replace": fields.BooleanField(default=False),
    }

    consumer_uuid: str
    consumer_type: str
    project_id: str
    user_id: str
    allocations: dict[str, dict[str, dict[str, int]]]
    fence: int
    replace: bool


@base.ArmillaryObjectRegistry.register
class ClaimResult(base.ArmillaryObject):
    """How one claim of a batch went: a word of ``ClaimStatus`` and a sentence for refusals.

    A claim that stands has none, or ``HELD_BEFORE``.
    """

    VERSION = "1.0"

    fields = {
        "consumer_uuid": fields.UUIDField(),
        "status": fields.StringField(),
        "reason": fields.StringField(nullable=True),
    }

    consumer_uuid: str
    status: str
    reason: str | None

    @property
    def is_claimed(self) -> bool:
        """Whether the allocations stand."""
        return self.status == ClaimStatus.CLAIMED
