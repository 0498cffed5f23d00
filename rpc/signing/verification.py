"""Verification of signed messages: known key, valid signature, fresh, and not replayed."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from rpc.signing.envelope import UNKNOWN_KEY, Contents, Refused, SignedMessage
from rpc.signing.nonces import NONCE_BYTES
from rpc.signing.trust import Identity, TrustList

Clock = Callable[[], float]


class Trusted(Protocol):
    """A source of a trust list."""

    def current(self) -> TrustList: ...


class Seen(Protocol):
    """A store of the nonces already seen."""

    def is_new(self, nonce: bytes, sent_at: float) -> bool: ...


class Verifier:
    """Verifies signed messages against trust lists, in order, and a time window in seconds."""

    def __init__(
        self, trusted: Sequence[Trusted], *, window_seconds: float, clock: Clock = time.time
    ) -> None:
        self._trusted = list(trusted)
        self._window_seconds = window_seconds
        self._clock = clock

    def verified(self, signed: SignedMessage) -> tuple[Identity, Contents]:
        """Return a message's signer and contents, however old. Raises Refused."""
        identity = self._signer_of(signed, self._clock())
        contents = signed.contents()
        sent_at = contents.get("at")
        if not isinstance(sent_at, float) or not math.isfinite(sent_at):
            raise Refused("malformed")
        return identity, contents

    def refuse_stale(self, contents: Contents) -> None:
        """Raise Refused unless a message was sent within the window."""
        now, sent_at = self._clock(), contents["at"]
        if abs(now - sent_at) > self._window_seconds:
            raise Refused(
                "stale",
                f"it was sent {now - sent_at:.0f} s ago by its sender's clock; at most "
                f"{self._window_seconds:.0f} s are allowed ([signing] window_seconds)",
            )

    def _signer_of(self, signed: SignedMessage, now: float) -> Identity:
        for trusted in self._trusted:
            owner = trusted.current().owner_of(signed.key_id)
            if owner is None:
                continue
            identity, key = owner
            if not key.is_good(now):
                raise Refused("expired_key", f"the key {signed.key_id:.16} has expired")
            if not signed.is_by(key.public):
                raise Refused("bad_signature", f"it does not match the key of {identity.name}")
            return identity
        raise Refused(UNKNOWN_KEY, f"no trust list has the key {signed.key_id:.16}")


def refuse_replay(seen: Seen, contents: Contents) -> None:
    """Store the nonce of a message. Raises Refused if it was seen before."""
    try:
        nonce = bytes.fromhex(contents["nonce"])
    except (KeyError, TypeError, ValueError) as error:
        raise Refused("malformed") from error
    if len(nonce) != NONCE_BYTES:
        raise Refused("malformed")
    if not seen.is_new(nonce, contents["at"]):
        raise Refused("replayed", "it has been seen before")
