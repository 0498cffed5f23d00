"""Revoked tokens: a small file, shared by the processes that accept tokens."""

import fcntl
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from armillary import private_files

LOG = logging.getLogger(__name__)

TOKENS_OF_USER_MAX = 100
"""Revoked tokens of one user; when there are more, all tokens issued until then are revoked."""


class _Stored(TypedDict):
    """The file: user -> audit id -> expiry; user -> [time, expiry] of a revocation of all."""

    tokens: dict[str, dict[str, int]]
    before: dict[str, list[int]]


@dataclass(slots=True)
class _Revoked:
    tokens: dict[str, dict[str, int]] = field(default_factory=dict)
    before: dict[str, list[int]] = field(default_factory=dict)


class Revocations:
    """Tokens are known by their audit ids, and forgotten when they have expired. Thread-safe."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: tuple[int, ...] | None = None
        self._revoked = _Revoked()

    def is_revoked(self, user_id: str, audit_id: str, issued_at: int) -> bool:
        """Return whether a token was revoked, also when the file cannot be read."""
        try:
            with self._lock:
                revoked = self._current()
        except (OSError, ValueError, KeyError) as error:
            LOG.error("All issued tokens are rejected, %s cannot be read: %s", self._path, error)  # noqa: TRY400
            return True
        until, _expiry = revoked.before.get(user_id, (-1, 0))
        return issued_at <= until or audit_id in revoked.tokens.get(user_id, {})

    def add(self, user_id: str, audit_id: str, expires_at: int) -> None:
        """Revoke a token. Raises OSError."""
        now = int(self._clock())
        with self._lock, self._exclusive():
            revoked = _without_expired(self._current(), now)
            of_user = revoked.tokens.setdefault(user_id, {})
            of_user[audit_id] = expires_at
            if len(of_user) > TOKENS_OF_USER_MAX:
                _until, expiry = revoked.before.get(user_id, (0, 0))
                revoked.before[user_id] = [now, max(expiry, *of_user.values())]
                del revoked.tokens[user_id]
            stored: _Stored = {"tokens": revoked.tokens, "before": revoked.before}
            private_files.write(self._path, json.dumps(stored))

    def _current(self) -> _Revoked:
        try:
            stat = self._path.stat()
        except FileNotFoundError:
            self._revoked, self._seen = _Revoked(), None
            return self._revoked
        state = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        if state != self._seen:
            stored: _Stored = json.loads(self._path.read_text(encoding="utf-8"))
            self._revoked = _Revoked(stored["tokens"], stored["before"])
            self._seen = state
        return self._revoked

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Keep other processes from writing."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        lock = os.open(self._path.with_suffix(".lock"), flags, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def _without_expired(revoked: _Revoked, now: int) -> _Revoked:
    tokens = {
        user: {audit_id: expiry for audit_id, expiry in of_user.items() if expiry > now}
        for user, of_user in revoked.tokens.items()
    }
    return _Revoked(
        {user: of_user for user, of_user in tokens.items() if of_user},
        {user: entry for user, entry in revoked.before.items() if entry[1] > now},
    )
