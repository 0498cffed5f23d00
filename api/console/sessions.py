"""Sessions of browsers: a sealed token in a cookie, which only this API can open.

Nothing is stored for a session, so every process with the same keys knows it. Only sessions that
were ended before their time are listed, until they would have expired.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from oslo_config import cfg

from armillary.identity.revocations import Revocations
from armillary.keys.key_file import KeyFile

ENDED_FILE = "ended.json"
SEALED_CHARACTERS_MAX = 3500
"""Browsers keep cookies of up to 4,096 bytes."""
_ID_BYTES = 18
_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A login of a browser; times are seconds since 1970.

    ``token`` is what its requests are authenticated with. ``is_issued``: it was issued for this
    session, and ends with it.
    """

    id: str
    secret: str
    token: str
    user_id: str
    issued_at: int
    expires_at: int
    is_issued: bool

    @property
    def csrf_token(self) -> str:
        """What a request that changes something must show, bound to this session."""
        return hmac.new(self.secret.encode(), b"csrf", hashlib.sha256).hexdigest()


class Seal:
    """Encrypts and authenticates small values with the keys of a file."""

    def __init__(self, path: Path) -> None:
        self._keys = KeyFile(path)

    def close(self, value: object) -> str:
        """Return a value sealed by the first key. Raises OSError."""
        return _fernet(self._keys.current_or_made()).encrypt(json.dumps(value).encode()).decode()

    def open(self, sealed: str) -> object:
        """Return what was sealed by any of the keys, None for anything else. Raises OSError."""
        keys = self._keys.current()
        if not keys or len(sealed) > SEALED_CHARACTERS_MAX or not sealed.isascii():
            return None
        try:
            return json.loads(_fernet(keys).decrypt(sealed))
        except InvalidToken:
            return None


class Sessions:
    """Begins, finds and ends sessions; thread-safe."""

    def __init__(
        self,
        seal: Seal,
        state_dir: Path,
        *,
        lifetime_seconds: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._seal = seal
        self._ended = Revocations(state_dir / ENDED_FILE, clock)
        self._lifetime_seconds = lifetime_seconds
        self._clock = clock

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, clock: Callable[[], float] = time.time) -> Sessions:
        """Return the sessions of ``[console]``."""
        return cls(
            Seal(Path(conf.console.session_key_file)),
            Path(conf.console.state_dir),
            lifetime_seconds=conf.console.session_lifetime_seconds,
            clock=clock,
        )

    def begin(
        self, token: str, user_id: str, *, expires_at: int | None, is_issued: bool
    ) -> tuple[str, Session]:
        """Return the cookie of a new session, and the session. Raises OSError."""
        now = int(self._clock())
        latest = now + self._lifetime_seconds
        session = Session(
            id=secrets.token_urlsafe(_ID_BYTES),
            secret=secrets.token_urlsafe(_SECRET_BYTES),
            token=token,
            user_id=user_id,
            issued_at=now,
            expires_at=latest if expires_at is None else min(latest, expires_at),
            is_issued=is_issued,
        )
        return self._seal.close(asdict(session)), session

    def find(self, cookie: str) -> Session | None:
        """Return the session of a cookie; None if it is not ours, expired or ended."""
        try:
            found = self._seal.open(cookie)
        except OSError:
            return None
        if not isinstance(found, dict) or found.keys() != Session.__dataclass_fields__.keys():
            return None
        session = Session(**found)
        if session.expires_at <= self._clock():
            return None
        if self._ended.is_revoked(session.user_id, session.id, session.issued_at):
            return None
        return session

    def end(self, session: Session) -> None:
        """End a session in all processes. Raises OSError."""
        self._ended.add(session.user_id, session.id, session.expires_at)


def _fernet(keys: list[bytes]) -> MultiFernet:
    return MultiFernet(
        [Fernet(base64.urlsafe_b64encode(hashlib.sha256(key).digest())) for key in keys]
    )
