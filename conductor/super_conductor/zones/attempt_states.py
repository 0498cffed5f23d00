"""States of an attempt to build an instance in a zone; see ``ZoneAPI.get_attempts``."""

from __future__ import annotations

ATTEMPT_FINAL = 2**31 - 1
"""Cancels all attempts for an instance that its user has deleted: no later attempt is accepted."""


class AttemptState:
    """The values of ``state`` in an answer of ``ZoneAPI.get_attempts``."""

    BUILDING = "building"
    ACTIVE = "active"
    FAILED = "failed"
    CANCELLING = "cancelling"
    GONE = "gone"
