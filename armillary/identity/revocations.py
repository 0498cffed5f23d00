"""Revoked tokens: a small file, shared by the processes that accept tokens."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from armillary.identity.shared_file import SharedFile

LOG = logging.getLogger(__name__)

TOKENS_OF_USER_MAX = 100
"""Revoked tokens of one user; when there are more, all tokens issued until then are revoked."""


@dataclass(slots=True)
class _Revoked:
    """User -> audit id -> expiry; user -> [time, expiry] of a revocation of all."""

    tokens: dict[str, dict[str, int]] = field(default_factory=dict)
    before: dict[str, list[int]] = field(default_factory=dict)


class Revocations:
    """Tokens are known by their audit ids, and forgotten when they have expired. Thread-safe."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._file = SharedFile(path, parse=_parse, plain=asdict)

    def is_revoked(self, user_id: str, audit_id: str, issued_at: int) -> bool:
        """Return whether a token was revoked, also when the file cannot be read."""
        try:
            revoked = self._file.current()
        except (OSError, ValueError, KeyError) as error:
            path = self._file.path
            LOG.error("All issued tokens are rejected, %s cannot be read: %s", path, error)  # noqa: TRY400
            return True
        until, _expiry = revoked.before.get(user_id, (-1, 0))
        return issued_at <= until or audit_id in revoked.tokens.get(user_id, {})

    def add(self, user_id: str, audit_id: str, expires_at: int) -> None:
        """Revoke a token. Raises OSError."""
        now = int(self._clock())

        def with_token(known: _Revoked) -> _Revoked:
            revoked = _without_expired(known, now)
            of_user = revoked.tokens.setdefault(user_id, {})
            of_user[audit_id] = expires_at
            return _with_all(revoked, user_id, now, 0) if _are_many(of_user) else revoked

        self._file.change(with_token)

    def add_all(self, user_id: str, expires_at: int) -> None:
        """Revoke all tokens of a user that were issued until now. Raises OSError."""
        now = int(self._clock())
        self._file.change(
            lambda known: _with_all(_without_expired(known, now), user_id, now, expires_at)
        )


def _are_many(of_user: Mapping[str, int]) -> bool:
    return len(of_user) > TOKENS_OF_USER_MAX


def _with_all(revoked: _Revoked, user_id: str, now: int, expires_at: int) -> _Revoked:
    """Return what is revoked, with all tokens of a user; the last one ends at ``expires_at``."""
    of_user = revoked.tokens.pop(user_id, {})
    _until, expiry = revoked.before.get(user_id, (0, 0))
    revoked.before[user_id] = [now, max(expiry, expires_at, *of_user.values())]
    return revoked


def _parse(stored: dict[str, Any]) -> _Revoked:
    return _Revoked(stored["tokens"], stored["before"]) if stored else _Revoked()


def _without_expired(revoked: _Revoked, now: int) -> _Revoked:
    tokens = {
        user: {audit_id: expiry for audit_id, expiry in of_user.items() if expiry > now}
        for user, of_user in revoked.tokens.items()
    }
    return _Revoked(
        {user: of_user for user, of_user in tokens.items() if of_user},
        {user: entry for user, entry in revoked.before.items() if entry[1] > now},
    )
