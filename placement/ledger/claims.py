"""Claims, releases and moves received over RPC: validation, and submission to the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from armillary import exception
from objects.allocation import ClaimResult
from objects.packed.claim_batch import AnyClaim, Claimed
from placement.ledger.ledger import Ledger
from placement.ledger.ledger_commit import LedgerCommit
from placement.providers import names
from placement.providers.inventory import AMOUNT_MAX

TEXT_LENGTH_MAX = 255
FENCE_MAX = 2**62


class ClaimWriter:
    """Write allocations in the order of their fences. All operations are idempotent."""

    def __init__(self, commit: LedgerCommit) -> None:
        self._commit = commit

    def claim(self, claims: Sequence[AnyClaim]) -> list[ClaimResult]:
        """Write claims, each accepted or refused independently.

        Raises ``Invalid`` if one is malformed; then none is written.
        """
        return [
            ClaimResult(consumer_uuid=each.consumer_uuid, status=each.status, reason=each.reason)
            for each in self.claim_batch(claims)
        ]

    def claim_batch(self, claims: Sequence[AnyClaim]) -> list[Claimed]:
        """Write claims as ``claim`` does, but return plain results instead of versioned objects."""
        self._commit.check_size("claims", len(claims))
        for claim in claims:
            _check_claim(claim)
        return cast("list[Claimed]", self._commit.submit(_Claims(claims)))

    def release(self, consumers: Mapping[str, int]) -> None:
        """Delete all allocations of these consumers (UUID -> fence)."""
        self._commit.check_size("consumers", len(consumers))
        for consumer, fence in consumers.items():
            _check_consumer(consumer, fence)
        self._commit.submit(_Release(consumers))

    def move(
        self,
        source: str,
        target: str,
        fence: int,
        *,
        is_replacing: bool = False,
        consumer_type: str | None = None,
    ) -> None:
        """Move all allocations of one consumer to another, atomically."""
        _check_consumer(source, fence)
        _check_consumer(target, fence)
        if source == target:
            raise exception.Invalid(reason=f"source and target are the same consumer {source}")
        if consumer_type is not None:
            _check_text(target, "consumer_type", consumer_type)
        self._commit.submit(_Move(source, target, fence, is_replacing, consumer_type))


@dataclass(frozen=True)
class _Claims:
    claims: Sequence[AnyClaim]
    classes: ClassVar[Sequence[str]] = ()

    @property
    def consumers(self) -> Sequence[str]:
        return [claim.consumer_uuid for claim in self.claims]

    @property
    def providers(self) -> Sequence[str]:
        return [provider for claim in self.claims for provider in claim.allocations]

    def apply(self, ledger: Ledger) -> list[Claimed]:
        return [ledger.claim(claim) for claim in self.claims]


@dataclass(frozen=True)
class _Release:
    fences: Mapping[str, int]
    providers: ClassVar[Sequence[str]] = ()
    classes: ClassVar[Sequence[str]] = ()

    @property
    def consumers(self) -> Sequence[str]:
        return list(self.fences)

    def apply(self, ledger: Ledger) -> None:
        for consumer, fence in self.fences.items():
            ledger.release(consumer, fence)


@dataclass(frozen=True)
class _Move:
    source: str
    target: str
    fence: int
    is_replacing: bool
    consumer_type: str | None
    providers: ClassVar[Sequence[str]] = ()
    classes: ClassVar[Sequence[str]] = ()

    @property
    def consumers(self) -> Sequence[str]:
        return [self.source, self.target]

    def apply(self, ledger: Ledger) -> None:
        ledger.move(
            self.source,
            self.target,
            self.fence,
            is_replacing=self.is_replacing,
            consumer_type=self.consumer_type,
        )


def _check_claim(claim: AnyClaim) -> None:
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


def _check_resources(consumer: str, provider: str, item: Any) -> None:
    if not names.is_uuid(provider):
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


def _check_consumer(consumer: str, fence: Any) -> None:
    if not names.is_uuid(consumer):
        raise exception.Invalid(reason=f"a consumer must be named by its UUID, not by {consumer!r}")
    if not isinstance(fence, int) or not 0 <= fence <= FENCE_MAX:
        raise _invalid(consumer, f"fence must be from 0 to {FENCE_MAX}, not {fence!r}")


def _invalid(consumer: str, reason: str) -> exception.Invalid:
    return exception.Invalid(reason=f"consumer {consumer}: {reason}")
