"""Writes of allocations: claim, release, move; in one order, in shared transactions."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from oslo_utils import timeutils
from sqlalchemy.orm import Session

from armillary import exception
from armillary.db import Database
from objects.allocation import AllocationClaim, ClaimResult
from placement import names
from placement.db import allocations, epochs
from placement.group_commit import GroupCommit
from placement.inventory import AMOUNT_MAX
from placement.ledger import Ledger

TEXT_LENGTH_MAX = 255
FENCE_MAX = 2**62


class _Work(Protocol):
    """What one call wants of the ledger."""

    @property
    def consumers(self) -> Sequence[str]: ...

    @property
    def providers(self) -> Sequence[str]: ...

    def apply(self, ledger: Ledger) -> Any: ...


class ClaimWriter:
    """Writes allocations. Calls that come at the same time are written in one transaction.

    Each writer of the database takes the epoch row's lock first, so what is checked here cannot
    change before it is committed, and no lock is waited for in another order. Doing anything twice
    is fine.
    """

    def __init__(
        self,
        database: Database,
        *,
        batch_size_max: int,
        queue_size_max: int,
        clock: Callable[[], dt.datetime] = timeutils.utcnow,
    ) -> None:
        self._database = database
        self._batch_size_max = batch_size_max
        self._clock = clock
        self._group_commit = GroupCommit[_Work, Any](
            self._commit, weight_max=batch_size_max, waiting_max=queue_size_max
        )

    def claim(self, claims: Sequence[AllocationClaim]) -> list[ClaimResult]:
        """Write claims, each accepted or refused on its own.

        Raises ``Invalid`` when one makes no sense; then none is written.
        """
        self._check_size("claims", len(claims))
        for claim in claims:
            _check_claim(claim)
        return cast("list[ClaimResult]", self._submit(_Claims(claims)))

    def release(self, consumers: Mapping[str, int]) -> None:
        """Drop all that these consumers (UUID -> fence) hold."""
        self._check_size("consumers", len(consumers))
        for consumer, fence in consumers.items():
            _check_consumer(consumer, fence)
        self._submit(_Release(consumers))

    def move(self, source: str, target: str, fence: int) -> None:
        """Give all that one consumer holds to another, in one step."""
        _check_consumer(source, fence)
        _check_consumer(target, fence)
        if source == target:
            raise exception.Invalid(reason=f"source and target are both consumer {source}")
        self._submit(_Move(source, target, fence))

    def _check_size(self, what: str, size: int) -> None:
        if size > self._batch_size_max:
            raise exception.Invalid(
                reason=f"{what}: {size} were given, one call may have {self._batch_size_max} "
                "([placement] claim_batch_size_max)"
            )

    def _submit(self, work: _Work) -> Any:
        if not work.consumers:
            return work.apply(Ledger({}, {}, {}))
        outcome = self._group_commit.submit(work, weight=len(work.consumers))
        if isinstance(outcome, exception.ArmillaryError):
            raise outcome
        return outcome

    def _commit(self, group: Sequence[_Work]) -> list[Any]:
        return self._database.run_in_writer(lambda session: self._write(session, group))

    def _write(self, session: Session, group: Sequence[_Work]) -> list[Any]:
        epoch = epochs.lock(session)
        ledger = allocations.get_ledger(
            session,
            consumers={uuid for work in group for uuid in work.consumers},
            providers={uuid for work in group for uuid in work.providers},
        )
        outcomes = [_outcome(work, ledger) for work in group]
        allocations.store(session, ledger, epoch, self._clock())
        return outcomes


def _outcome(work: _Work, ledger: Ledger) -> Any:
    """Return what the work made, or why it could not be done: others share its transaction."""
    try:
        return work.apply(ledger)
    except exception.ArmillaryError as error:
        return error


@dataclass(frozen=True)
class _Claims:
    claims: Sequence[AllocationClaim]

    @property
    def consumers(self) -> Sequence[str]:
        return [claim.consumer_uuid for claim in self.claims]

    @property
    def providers(self) -> Sequence[str]:
        return [provider for claim in self.claims for provider in claim.allocations]

    def apply(self, ledger: Ledger) -> list[ClaimResult]:
        return [ledger.claim(claim) for claim in self.claims]


@dataclass(frozen=True)
class _Release:
    fences: Mapping[str, int]

    @property
    def consumers(self) -> Sequence[str]:
        return list(self.fences)

    @property
    def providers(self) -> Sequence[str]:
        return ()

    def apply(self, ledger: Ledger) -> None:
        for consumer, fence in self.fences.items():
            ledger.release(consumer, fence)


@dataclass(frozen=True)
class _Move:
    source: str
    target: str
    fence: int

    @property
    def consumers(self) -> Sequence[str]:
        return [self.source, self.target]

    @property
    def providers(self) -> Sequence[str]:
        return ()

    def apply(self, ledger: Ledger) -> None:
        ledger.move(self.source, self.target, self.fence)


def _check_claim(claim: AllocationClaim) -> None:
    _check_consumer(claim.consumer_uuid, claim.fence)
    consumer = claim.consumer_uuid
    for field in ("consumer_type", "project_id", "user_id"):
        if not names.is_text(getattr(claim, field), TEXT_LENGTH_MAX):
            raise _invalid(
                consumer, f"{field} must have 1 to {TEXT_LENGTH_MAX} printable characters"
            )
    if not isinstance(claim.allocations, dict) or not claim.allocations:
        raise _invalid(consumer, "allocations must name at least one provider")
    for provider, item in claim.allocations.items():
        _check_resources(consumer, provider, item)


def _check_resources(consumer: str, provider: str, item: Any) -> None:
    if not names.is_uuid(provider):
        raise _invalid(consumer, f"a provider is named by its UUID, not by {provider!r}")
    resources = item.get("resources") if isinstance(item, dict) else None
    if not isinstance(resources, dict) or not resources:
        raise _invalid(consumer, f"allocations on {provider} must name at least one resource class")
    for name, amount in resources.items():
        is_whole = isinstance(amount, int) and not isinstance(amount, bool)
        if not is_whole or not 1 <= amount <= AMOUNT_MAX:
            raise _invalid(
                consumer, f"the amount of {name} must be from 1 to {AMOUNT_MAX}, not {amount!r}"
            )


def _check_consumer(consumer: str, fence: int) -> None:
    if not names.is_uuid(consumer):
        raise exception.Invalid(reason=f"a consumer is named by its UUID, not by {consumer!r}")
    if not 0 <= fence <= FENCE_MAX:
        raise _invalid(consumer, f"fence must be from 0 to {FENCE_MAX}, not {fence}")


def _invalid(consumer: str, reason: str) -> exception.Invalid:
    return exception.Invalid(reason=f"consumer {consumer}: {reason}")
