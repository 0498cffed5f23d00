"""ClaimBatch and ClaimAnswers: many claims in one message to placement, and how they went.

Claims of one moment mostly have the same owner and the same amounts, which are sent once; of the
answers only the refusals are sent. ``Claim`` and ``Claimed`` are ``AllocationClaim`` and
``ClaimResult`` without what an object needs to travel alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Protocol, Self

from armillary import exception
from objects import base, fields, uncoerced
from objects.allocation import HELD_BEFORE, AllocationClaim, ClaimStatus
from objects.distinct_rows import DistinctRows

Allocations = dict[str, dict[str, dict[str, int]]]


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """What an ``AllocationClaim`` says."""

    consumer_uuid: str
    project_id: str
    user_id: str
    allocations: Allocations
    fence: int = 0
    consumer_type: str = "INSTANCE"
    replace: bool = False

    def as_object(self) -> AllocationClaim:
        """Return the object, for a placement that knows no batches."""
        return AllocationClaim.from_values(
            **{each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Claimed:
    """What a ``ClaimResult`` says."""

    consumer_uuid: str
    status: str = ClaimStatus.CLAIMED
    reason: str | None = None

    @property
    def is_claimed(self) -> bool:
        """Whether the allocations stand."""
        return self.status == ClaimStatus.CLAIMED


def is_held_before(result: AnyResult) -> bool:
    """Return whether a claim stands that has written nothing."""
    return result.is_claimed and result.reason == HELD_BEFORE


class AnyClaim(Protocol):
    """A claim in either form."""

    @property
    def consumer_uuid(self) -> str: ...
    @property
    def consumer_type(self) -> str: ...
    @property
    def project_id(self) -> str: ...
    @property
    def user_id(self) -> str: ...
    @property
    def allocations(self) -> Allocations: ...
    @property
    def fence(self) -> int: ...
    @property
    def replace(self) -> bool: ...


class AnyResult(Protocol):
    """How a claim went, in either form."""

    @property
    def consumer_uuid(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def is_claimed(self) -> bool: ...


@base.ArmillaryObjectRegistry.register
class ClaimBatch(base.ArmillaryObject):
    """Claims as tables; numbers are rows of another one.

    ``owners`` are rows of consumer_type, project_id, user_id and replace; ``amounts`` what is taken
    of one provider; ``claims`` rows of consumer_uuid, fence, owner and allocations (provider UUID
    -> amounts).
    """

    VERSION = "1.0"

    fields = {
        "owners": fields.JSONField(),
        "amounts": fields.JSONField(),
        "claims": fields.JSONField(),
    }

    owners: list[Any]
    amounts: list[Any]
    claims: list[Any]

    @classmethod
    def of(cls, claims: Iterable[AnyClaim]) -> Self:
        """Return the batch of claims, which keep their order."""
        owners, amounts = DistinctRows(), DistinctRows()
        rows = []
        for claim in claims:
            owner = (claim.consumer_type, claim.project_id, claim.user_id, claim.replace)
            taken = {
                provider: amounts.index(_key(item), item)
                for provider, item in claim.allocations.items()
            }
            rows.append([claim.consumer_uuid, claim.fence, owners.index(owner, list(owner)), taken])
        return uncoerced.make(cls, owners=owners.rows, amounts=amounts.rows, claims=rows)

    def unpacked(self) -> list[Claim]:
        """Return the claims; equal amounts are one object, which nobody changes.

        Raises ``Invalid`` for a batch that makes no sense; what its texts and numbers say is not
        looked at.
        """
        try:
            return [self._claim(*row) for row in self.claims]
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise exception.Invalid(
                reason=f"a batch of claims makes no sense: {error!r}"
            ) from error

    def _claim(self, consumer: str, fence: int, owner: int, taken: dict[str, int]) -> Claim:
        consumer_type, project_id, user_id, replace = self.owners[owner]
        allocations = {provider: self.amounts[index] for provider, index in taken.items()}
        return Claim(consumer, project_id, user_id, allocations, fence, consumer_type, replace)


@base.ArmillaryObjectRegistry.register
class ClaimAnswers(base.ArmillaryObject):
    """How the claims of a batch went: ``refused`` has rows of index, status and reason.

    Claims that stand without having written anything are among them, by their reason.
    """

    VERSION = "1.0"

    fields = {"refused": fields.JSONField()}

    refused: list[Any]

    @classmethod
    def of(cls, results: Iterable[AnyResult]) -> Self:
        """Return the answers to a batch, in its order."""
        return uncoerced.make(
            cls,
            refused=[
                [index, each.status, each.reason]
                for index, each in enumerate(results)
                if each.reason is not None or not each.is_claimed
            ],
        )

    def unpacked(self, consumer_uuids: Sequence[str]) -> list[Claimed]:
        """Return how each claim went, given the consumers of the batch."""
        results = [Claimed(uuid) for uuid in consumer_uuids]
        for index, status, reason in self.refused:
            results[index] = Claimed(consumer_uuids[index], status, reason)
        return results


def _key(item: Any) -> Hashable:
    """Return what equal amounts have in common; what is none is for placement to refuse."""
    try:
        key = tuple(item["resources"].items())
        hash(key)
    except (LookupError, TypeError, AttributeError):
        return id(item)
    return key
