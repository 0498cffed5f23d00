"""Attempts to build instances in another zone, as that zone reports them."""

from dataclasses import dataclass

ATTEMPT_FINAL = 2**31 - 1
"""Cancels all attempts for an instance that its user has deleted: no later attempt is accepted."""


class AttemptState:
    """States of an attempt; only with GONE nothing is left of it."""

    BUILDING = "building"
    ACTIVE = "active"
    FAILED = "failed"
    CANCELLING = "cancelling"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class ServerSize:
    """What a server counts against the quota; in a resize, the larger of two flavors."""

    vcpus: int
    memory_mb: int
    is_resizing: bool


@dataclass(frozen=True, slots=True)
class ZoneAttempt:
    """The newest attempt for an instance. One that failed has a reason, an active one a size."""

    attempt: int
    state: str
    reason: str | None = None
    size: ServerSize | None = None


Attempts = dict[str, ZoneAttempt]
"""Instance UUID -> its newest attempt; instances that never arrived are missing."""
