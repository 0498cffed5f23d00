"""AllocationClaim and ClaimResult: a write to placement for one consumer, and its outcome."""

from __future__ import annotations

from objects import base, fields

FENCE_STEP = 1000
"""Increment of the fence each time a super conductor takes the request.

Attempts within the cell increment it by one.
"""

OPERATION_FENCE = 10_000_000
"""First fence of operations on instances, above those of builds and repairs."""

ALTERNATE_PLACE = 690
"""Position of the cell's first claim in an operation's range of fences; two per host.

The positions below belong to the super conductor: the hold's, then ``TRY_FENCES`` for each try
to find a host.
"""

TRY_FENCES = 2
"""Fences per scheduling try: the scheduler's claims use the given one, its retry the next.

Each release therefore has a fence below that of every later claim: a release that is delivered
late, or twice, frees nothing that was claimed since.
"""

FENCE_FINAL = 2**31 - 1
"""The fence of a consumer that is being deleted: no claim is accepted after it."""


def fence_at_rest(operations_total: int) -> int:
    """Return the fence of a write for an instance without a running operation.

    It is above all of the instance's operations so far, and below those of its next one.
    """
    return OPERATION_FENCE + operations_total * FENCE_STEP + FENCE_STEP - 1


class ClaimStatus:
    """Outcomes of a claim; all except CLAIMED leave the allocations unchanged."""

    CLAIMED = "claimed"
    NO_CAPACITY = "no_capacity"
    NO_PROVIDER = "no_provider"
    CONFLICT = "conflict"
    """The consumer holds other allocations, and the claim does not replace them."""
    FENCED = "fenced"
    """A later attempt, or a delete, has already written."""


ALREADY_HELD = "the consumer holds this already"
"""Reason of a successful claim that did not have to write anything."""


@base.ArmillaryObjectRegistry.register
class AllocationClaim(base.ArmillaryObject):
    """Allocations to write for one consumer, all or nothing.

    Writing the same allocations twice succeeds both times. ``replace`` swaps the consumer's
    allocations for these atomically. A claim is refused if its ``fence`` is below the highest one
    seen for the consumer.
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
    """Outcome of one claim: a value of ``ClaimStatus``, with a reason if it was refused.

    A successful claim has no reason, or ``ALREADY_HELD``.
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
        """Whether the claim was successful."""
        return self.status == ClaimStatus.CLAIMED
