"""Idempotency: a request that arrives twice is carried out once, and answered the same.

A message may be delivered twice, and a client whose answer was lost repeats its request. The
receiver stores a record before it changes anything, and answers a repeat from the record.
"""

import dataclasses
import hashlib
import json
from typing import Any, Protocol

HANDLED_SECONDS_MAX = 60.0
"""Seconds after which a request without an answer counts as abandoned: its process died."""
RENEWED_SECONDS_MAX = 12.0
"""The same for requests whose handler renews their record."""


@dataclasses.dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """What is known of a request: ``is_new`` if it is the receiver's turn to handle it.

    A request that was abandoned is new again, under the ``request_id`` of its first time.
    ``answer`` None, unless it is new: it is being handled.
    """

    is_new: bool
    fingerprint: str
    request_id: str
    answer: str | None = None


class Records(Protocol):
    """Where records are kept, for a day. Raises ``Unavailable``."""

    def begin(
        self,
        key: str,
        *,
        fingerprint: str = "",
        request_id: str = "",
        owner: str = "",
        handler: str | None = None,
        is_renewed: bool = False,
    ) -> IdempotencyRecord:
        """Store that a request is being handled, unless there is a record; return the record.

        ``handler`` identifies this time of the request, None: its ``request_id`` does. The one that
        handles the request is told so again. Raises ``QuotaExceeded`` for an ``owner``, a project,
        that has very many; with none, there is no limit. ``is_renewed``: handlers of such requests
        call ``renew`` until they end; one that does not has died.
        """

    def renew(self, key: str, handler: str) -> None:
        """Store that this handler still handles the request; does nothing unless it does."""

    def keep(self, key: str, answer: str) -> None:
        """Store the first answer to a request, which every repeat gets from now on."""

    def abandon(self, key: str, handler: str) -> None:
        """Have the next repeat handled again: whether the request was carried out is unknown.

        Does nothing unless this handler handles it.
        """

    def forget(self, key: str, handler: str) -> None:
        """Delete the record of a request that was refused: a repeat is refused again.

        One that was begun again is abandoned: it may be refused because of what its first time did.
        Does nothing unless this handler handles it.
        """


def digest(*parts: Any) -> str:
    """Return the SHA-256 of plain values, as a key or a fingerprint."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
