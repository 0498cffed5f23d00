"""Rate limit of failed logins, against guessed passwords and the load of hashing them."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import falcon

FREE_FAILURES_OF_USER = 5
"""Consecutive failures of one user from one address before the first pause."""
FREE_FAILURES_OF_ADDRESS = 50
"""Failures of all users from one address before the first pause."""
PAUSE_SECONDS_MAX = 60.0
KEYS_MAX = 10_000
"""Users and addresses remembered; the one that failed longest ago is forgotten first."""
HASHES_MAX = 2
"""Passwords hashed at the same time."""
HASH_WAIT_SECONDS_MAX = 10.0

Key = tuple[str, ...]


@dataclass(slots=True)
class _Failures:
    count: int
    until: float


class LoginGuard:
    """Failures by user and address, in this process alone. Thread-safe.

    After these, each further failure doubles the pause before the next attempt is checked. They
    count for the text that a client gave as name or id, and for the user found by it, if there is
    one: by name and id, a user is not guessed at twice as often. A client sees the pauses of what
    it gave, and these are the same for a user who does not exist.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures: OrderedDict[Key, _Failures] = OrderedDict()
        self._hashing = threading.BoundedSemaphore(HASHES_MAX)

    @contextmanager
    def attempt(self, given: str, user_id: str | None, address: str) -> Iterator[None]:
        """Let one attempt be checked. Raises status 429 or 503 if that must wait."""
        keys = [*_keys(given, user_id, address), (address,)]
        self._require_patience(*keys)
        if not self._hashing.acquire(timeout=HASH_WAIT_SECONDS_MAX):
            raise falcon.HTTPServiceUnavailable(description="Too many logins; try again later.")
        try:
            self._require_patience(*keys)  # others failed meanwhile
            yield
        finally:
            self._hashing.release()

    def succeeded(self, given: str, user_id: str | None, address: str) -> None:
        """Forget the failures of a user who knows the password."""
        with self._lock:
            for key in _keys(given, user_id, address):
                self._failures.pop(key, None)

    def failed(self, given: str, user_id: str | None, address: str) -> None:
        """Note a failure."""
        with self._lock:
            for key in _keys(given, user_id, address):
                self._note(key, FREE_FAILURES_OF_USER)
            self._note((address,), FREE_FAILURES_OF_ADDRESS)
            while len(self._failures) > KEYS_MAX:
                self._failures.popitem(last=False)

    def _note(self, key: Key, free: int) -> None:
        now = self._clock()
        known = self._failures.pop(key, None)
        if known is None or now - known.until > 10 * PAUSE_SECONDS_MAX:
            known = _Failures(0, now)
        known.count += 1
        excess = known.count - free
        pause = min(2.0 ** min(excess - 1, 10), PAUSE_SECONDS_MAX) if excess > 0 else 0.0
        known.until = now + pause
        self._failures[key] = known

    def _require_patience(self, *keys: Key) -> None:
        with self._lock:
            now = self._clock()
            until = max((self._failures[key].until for key in keys if key in self._failures),
                        default=now)  # fmt: skip
        if until > now:
            seconds = int(until - now) + 1
            raise falcon.HTTPTooManyRequests(
                description=f"Too many failed logins; try again after {seconds} seconds.",
                retry_after=seconds,
            )


def _keys(given: str, user_id: str | None, address: str) -> list[Key]:
    keys: list[Key] = [("given", given, address)]
    if user_id is not None:
        keys.append(("user", user_id, address))
    return keys
