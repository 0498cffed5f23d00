"""Claims, releases and moves received over RPC: validation, and submission to the ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from armillary import exception
from armillary.names.identifiers import is_uuid
from objects.allocations.allocation import AllocationClaim, ClaimResult, ClaimStatus
from objects.instances.group_claim import GroupClaim, GroupRule
from placement.ledger.cell_scope import CellScope
from placement.ledger.ledger import Ledger
from placement.ledger.ledger_commit import LedgerCommit, Work
from placement.ownership import CellWriter, ConsumerCells
from placement.providers import names
from placement.providers.inventory import AMOUNT_MAX

TEXT_LENGTH_MAX = 255
FENCE_MAX = 2**62


class ClaimWriter:
    """Write allocations in the order of their fences. All operations are idempotent."""

    def __init__(self, commit: LedgerCommit) -> None:
        self._commit = commit

    def claim(
        self, claims: Sequence[AllocationClaim], writer: CellWriter | None = None
    ) -> list[ClaimResult]:
        """Write claims, each accepted or refused independently.

        Raises ``Invalid`` if one is malformed; then none is written. A claim for a consumer that is
        not the writer's, or on a provider that is not, is refused with ``FOREIGN``; so is one that
        puts its consumer into a server group, names another cell's host, or changes the type,
        project or user, also of one without allocations.
        """
        self._commit.check_size("claims", len(claims))
        for claim in claims:
            _check_claim(claim)

        def apply(ledger: Ledger) -> list[ClaimResult]:
            scope = None if writer is None else CellScope(writer, ledger)
            return [_claimed(ledger, claim, scope) for claim in claims]

        work = Work(
            apply,
            consumers=[claim.consumer_uuid for claim in claims],
            providers=[provider for claim in claims for provider in claim.allocations],
            groups={
                claim.group.group_uuid
                for claim in claims
                if claim.group is not None and claim.group.group_uuid is not None
            },
            hosts=set()
            if writer is None
            else {claim.group.host for claim in claims if claim.group is not None},
            is_by_cell=writer is not None,
        )
        return cast("list[ClaimResult]", self._commit.submit(work))

    def release(self, consumers: Mapping[str, int], writer: CellWriter | None = None) -> None:
        """Delete all allocations of these consumers (UUID -> fence).

        Raises ``NotItsOwn``, and deletes nothing, if one of them is in another cell than the
        writer's. One that no cell had is left alone.
        """
        self._commit.check_size("consumers", len(consumers))
        for consumer, fence in consumers.items():
            _check_consumer(consumer, fence)

        def apply(ledger: Ledger) -> None:
            known = list(consumers)
            if writer is not None:
                scope = CellScope(writer, ledger)
                known = [consumer for consumer in consumers if not scope.is_unknown(consumer)]
                for consumer in known:
                    scope.check(consumer)
            for consumer in known:
                ledger.release(consumer, consumers[consumer])

        self._submit(apply, list(consumers), writer)

    def release_unchanged(
        self, consumers: Mapping[str, int], writer: CellWriter | None = None
    ) -> list[str]:
        """Delete all allocations of consumers whose generation is unchanged.

        Returns, sorted, the consumers that have no allocations now. Raises ``Invalid`` for invalid
        UUIDs or too many consumers; ``NotItsOwn`` as ``release`` does.
        """
        self._commit.check_size("consumers", len(consumers))
        for consumer in consumers:
            _check_uuid(consumer)

        def apply(ledger: Ledger) -> list[str]:
            if writer is not None:
                scope = CellScope(writer, ledger)
                for consumer in consumers:
                    if ledger.holdings[consumer] is not None:
                        scope.check(consumer)
            released = []
            for consumer, generation in sorted(consumers.items()):
                holding = ledger.holdings[consumer]
                if holding is not None:
                    if holding.generation != generation:
                        continue
                    ledger.hold(consumer, None)
                    ledger.increment_generation(holding.amounts)
                released.append(consumer)
            return released

        return cast("list[str]", self._submit(apply, list(consumers), writer))

    def move(
        self,
        source: str,
        target: str,
        fence: int,
        *,
        is_replacing: bool = False,
        consumer_type: str | None = None,
        writer: CellWriter | None = None,
    ) -> None:
        """Move all allocations of one consumer to another, atomically.

        Raises ``NotItsOwn`` if one of them is in another cell than the writer's, or only one is in
        any, or if they are not of the same project and user.
        """
        _check_consumer(source, fence)
        _check_consumer(target, fence)
        if source == target:
            raise exception.Invalid(reason=f"source and target are the same consumer {source}")
        if consumer_type is not None:
            _check_text(target, "consumer_type", consumer_type)

        def apply(ledger: Ledger) -> None:
            both = (source, target)
            if writer is not None and any(ledger.holdings[one] is not None for one in both):
                CellScope(writer, ledger).check_move(source, target, consumer_type)
            ledger.move(
                source, target, fence, is_replacing=is_replacing, consumer_type=consumer_type
            )

        self._submit(apply, [source, target], writer)

    def set_cells(self, consumers: Sequence[str], cells: Sequence[str]) -> None:
        """Store the cell of consumers, or both while they move between two. Raises ``Invalid``."""
        self._commit.check_size("consumers", len(consumers))
        for uuid in (*consumers, *cells):
            _check_uuid(uuid)
        if len(cells) not in (1, 2):
            raise exception.Invalid(reason=f"a consumer is in one cell or two, not {len(cells)}")

        def apply(ledger: Ledger) -> None:
            for consumer in consumers:
                ledger.set_cells(consumer, ConsumerCells(*cells))

        self._submit(apply, list(consumers), None)

    def _submit(
        self, apply: Callable[[Ledger], Any], consumers: list[str], writer: CellWriter | None
    ) -> Any:
        return self._commit.submit(Work(apply, consumers=consumers, is_by_cell=writer is not None))


def _claimed(ledger: Ledger, claim: AllocationClaim, scope: CellScope | None) -> ClaimResult:
    foreign = None if scope is None else scope.claim_refusal(claim)
    if foreign is not None:
        return ClaimResult(claim.consumer_uuid, ClaimStatus.FOREIGN, foreign)
    return ledger.claim(claim)


def _check_claim(claim: AllocationClaim) -> None:
    _check_consumer(claim.consumer_uuid, claim.fence)
    consumer = claim.consumer_uuid
    for field in ("consumer_type", "project_id", "user_id"):
        _check_text(consumer, field, getattr(claim, field))
    if not isinstance(claim.replace, bool):
        raise _invalid(consumer, f"replace must be true or false, not {claim.replace!r}")
    if not isinstance(claim.allocations, dict) or not claim.allocations:
        raise _invalid(consumer, "allocations must name at least one provider")
    for provider, item in claim.allocations.items():
        _check_resources(consumer, provider, item)
    if claim.group is not None:
        _check_group(consumer, claim.group)


def _check_group(consumer: str, group: GroupClaim) -> None:
    _check_text(consumer, "host", group.host)
    if group.group_uuid is not None and not is_uuid(group.group_uuid):
        raise _invalid(consumer, f"a group must be named by its UUID, not by {group.group_uuid!r}")
    if group.rule not in list(GroupRule):
        raise _invalid(consumer, f"unknown rule {group.rule!r} of a server group")
    for name, value in (("limit", group.limit), ("as_of", group.as_of)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise _invalid(consumer, f"{name} must be a whole number from 0, not {value!r}")
    if not isinstance(group.counted, dict):
        raise _invalid(consumer, "counted must map members to hosts")


def _check_resources(consumer: str, provider: str, item: Any) -> None:
    if not is_uuid(provider):
        raise _invalid(consumer, f"a provider must be named by its UUID, not by {provider!r}")
    resources = item.get("resources") if isinstance(item, dict) else None
    if not isinstance(resources, dict) or not resources:
        raise _invalid(consumer, f"allocations on {provider} must name at least one resource class")
    for name, amount in resources.items():
        is_whole = isinstance(amount, int) and not isinstance(amount, bool)
        if not is_whole or not 1 <= amount <= AMOUNT_MAX:
            raise _invalid(
                consumer, f"the amount of {name} must be from 1 to {AMOUNT_MAX}, not {amount!r}"
            )


def _check_text(consumer: str, field: str, text: Any) -> None:
    if not names.is_text(text, TEXT_LENGTH_MAX):
        raise _invalid(consumer, f"{field} must have 1 to {TEXT_LENGTH_MAX} printable characters")


def _check_uuid(consumer: str) -> None:
    if not is_uuid(consumer):
        raise exception.Invalid(reason=f"a consumer must be named by its UUID, not by {consumer!r}")


def _check_consumer(consumer: str, fence: Any) -> None:
    _check_uuid(consumer)
    if not isinstance(fence, int) or not 0 <= fence <= FENCE_MAX:
        raise _invalid(consumer, f"fence must be from 0 to {FENCE_MAX}, not {fence!r}")


def _invalid(consumer: str, reason: str) -> exception.Invalid:
    return exception.Invalid(reason=f"consumer {consumer}: {reason}")
