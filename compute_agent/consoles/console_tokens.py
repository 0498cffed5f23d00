"""One-time tokens for the consoles of guests, in memory: after a restart users ask for new ones."""

import hashlib
import secrets
import threading
import time
from collections.abc import Callable

TOKEN_BYTES = 32
TOKENS_MAX = 1000
"""Maximum number of tokens that are kept; the oldest one goes first."""
TOKENS_OF_INSTANCE_MAX = 10
"""Of one instance: a user who asks for many voids the tokens of no other instance."""


class ConsoleTokens:
    """Tokens, each bound to a host and an instance; only their digests are kept."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[bytes, tuple[str, str, float]] = {}

    def issue(self, host: str, instance_uuid: str, seconds: float) -> str:
        """Return a new token for the console of a guest; it can be used once within its time."""
        token = secrets.token_hex(TOKEN_BYTES)
        with self._lock:
            self._forget_expired()
            of_instance = [each for each, kept in self._kept.items() if kept[1] == instance_uuid]
            if len(of_instance) >= TOKENS_OF_INSTANCE_MAX:
                del self._kept[of_instance[0]]
            elif len(self._kept) >= TOKENS_MAX:
                del self._kept[next(iter(self._kept))]
            self._kept[_digest(token)] = (host, instance_uuid, self._clock() + seconds)
        return token

    def redeem(self, token: str) -> tuple[str, str] | None:
        """Return host and instance of a token, which is then void; None if it is not valid."""
        with self._lock:
            self._forget_expired()
            found = self._kept.pop(_digest(token), None)
        return None if found is None else found[:2]

    def _forget_expired(self) -> None:
        now = self._clock()
        for digest in [each for each, (_, _, until) in self._kept.items() if until <= now]:
            del self._kept[digest]


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
