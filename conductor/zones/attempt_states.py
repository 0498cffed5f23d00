"""What an attempt to build in a zone may have come to; see ``ZoneAPI.get_attempts``."""

from __future__ import annotations

ATTEMPT_FINAL = 2**31 - 1
"""Cancelled for an instance that its user has deleted: no attempt comes after it."""


class AttemptState:
    """The words for it."""

    BUILDING = "building"
    ACTIVE = "active"
    FAILED = "failed"
    CANCELLING = "cancelling"
    GONE = "gone"
