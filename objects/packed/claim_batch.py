"""ClaimBatch and ClaimAnswers: many claims in one message to placement, and their outcomes.

Concurrent claims usually share owner and amounts, which are sent once; of the outcomes only the
refusals are sent.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Self

from armillary import exception
from objects import base, fields
from objects.allocations.allocation import AllocationClaim, ClaimResult
from objects.instances.group_claim import GroupClaim
from objects.packed import unchecked
from objects.packed.distinct_rows import DistinctRows


@base.ArmillaryObjectRegistry.register
class ClaimBatch(base.ArmillaryObject):
    """Claims as tables that refer to each other by row number.

    ``owners`` are rows of consumer_type, project_id, user_id and replace. ``amounts`` are
    allocations of one provider. ``claims`` are rows of consumer_uuid, fence, owner and allocations
    (provider UUID -> amounts). ``groups`` has rows of the index of a claim and its packed
    ``GroupClaim``, for claims that have one.
    """

    owners: list[Any] = fields.JSONField()
    amounts: list[Any] = fields.JSONField()
    claims: list[Any] = fields.JSONField()
    groups: list[Any] = fields.JSONField(default=[])

    @classmethod
    def of(cls, claims: Iterable[AllocationClaim]) -> Self:
        """Return a batch of the claims, in their order."""
        owners, amounts = DistinctRows(), DistinctRows()
        rows: list[Any] = []
        groups = []
        for claim in claims:
            owner = (claim.consumer_type, claim.project_id, claim.user_id, claim.replace)
            taken = {
                provider: amounts.index(_key(item), item)
                for provider, item in claim.allocations.items()
            }
            if claim.group is not None:
                groups.append([len(rows), claim.group.packed()])
            rows.append([claim.consumer_uuid, claim.fence, owners.index(owner, list(owner)), taken])
        return unchecked.make(
            cls, owners=owners.rows, amounts=amounts.rows, claims=rows, groups=groups
        )

    def unpacked(self) -> list[AllocationClaim]:
        """Return the claims; equal amounts are one shared object and must not be changed.

        Raises ``Invalid`` for a malformed batch; strings and numbers are not validated.
        """
        try:
            groups = {index: GroupClaim.unpacked(values) for index, values in self.groups}
            return [
                self._claim(*row, group=groups.get(index)) for index, row in enumerate(self.claims)
            ]
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise exception.Invalid(reason=f"malformed batch of claims: {error!r}") from error

    def _claim(
        self,
        consumer: str,
        fence: int,
        owner: int,
        taken: dict[str, int],
        *,
        group: GroupClaim | None,
    ) -> AllocationClaim:
        consumer_type, project_id, user_id, replace = self.owners[owner]
        allocations = {provider: self.amounts[index] for provider, index in taken.items()}
        return AllocationClaim(
            consumer, project_id, user_id, allocations, fence, consumer_type, replace, group
        )


@base.ArmillaryObjectRegistry.register
class ClaimAnswers(base.ArmillaryObject):
    """Outcomes of a batch of claims; ``refused`` has rows of index, status and reason.

    It includes claims that succeeded without a write, for their reason.
    """

    refused: list[Any] = fields.JSONField()

    @classmethod
    def of(cls, results: Iterable[ClaimResult]) -> Self:
        """Return the answers for a batch, in its order."""
        return unchecked.make(
            cls,
            refused=[
                [index, each.status, each.reason]
                for index, each in enumerate(results)
                if each.reason is not None or not each.is_claimed
            ],
        )

    def unpacked(self, consumer_uuids: Sequence[str]) -> list[ClaimResult]:
        """Return the outcome of each claim, given the consumers of the batch."""
        results = [ClaimResult(uuid) for uuid in consumer_uuids]
        for index, status, reason in self.refused:
            results[index] = ClaimResult(consumer_uuids[index], status, reason)
        return results


def _key(item: Any) -> Hashable:
    """Return a key for equal amounts; placement refuses those that have none."""
    try:
        key = tuple(item["resources"].items())
        hash(key)
    except (LookupError, TypeError, AttributeError):
        return id(item)
    return key
