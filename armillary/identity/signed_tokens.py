"""Expiring tokens that are signed, not stored: every process with the same keys accepts them.

A token holds who got it and until when; the roles are looked up when it is used. Keys and
revocations are files in one directory, shared by the processes of the deployment.
"""

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from armillary.identity.revocations import Revocations
from armillary.key_file import KeyFile

PREFIX = "arm1"
KEYS_FILE = "keys"
REVOKED_FILE = "revoked.json"

_AUDIT_ID_BYTES = 12


@dataclass(frozen=True, slots=True)
class Claims:
    """What a token says. Times are seconds since 1970.

    ``mark`` is that of the password or of the token of the file that it was got with: the token
    ends with it.
    """

    user_id: str
    project_id: str | None
    issued_at: int
    expires_at: int
    audit_id: str
    methods: tuple[str, ...]
    mark: str


class SignedTokens:
    """Issues, verifies and revokes tokens; thread-safe.

    ``directory`` is made with its keys when the first token is issued. Until then no token is
    valid.
    """

    def __init__(self, directory: Path, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._keys = KeyFile(directory / KEYS_FILE)
        self._revocations = Revocations(directory / REVOKED_FILE, clock)

    def issue(
        self,
        user_id: str,
        project_id: str | None,
        *,
        expires_at: int,
        methods: tuple[str, ...],
        mark: str,
    ) -> tuple[str, Claims]:
        """Return a new token, and what it says. Raises OSError if the keys cannot be read."""
        audit_id = secrets.token_urlsafe(_AUDIT_ID_BYTES)
        claims = Claims(
            user_id, project_id, int(self._clock()), expires_at, audit_id, methods, mark
        )
        keys = self._keys.current_or_made()
        payload = _encoded(json.dumps(_values(claims), separators=(",", ":")).encode())
        return f"{PREFIX}.{payload}.{_mac(keys[0], payload)}", claims

    def verify(self, token: str) -> Claims | None:
        """Return what a token says; None if it is not ours, expired or revoked."""
        claims = self._signed_claims(token)
        if claims is None or claims.expires_at <= self._clock():
            return None
        if self._revocations.is_revoked(claims.user_id, claims.audit_id, claims.issued_at):
            return None
        return claims

    def revoke(self, claims: Claims) -> None:
        """Make a token invalid in all processes. Raises OSError."""
        self._revocations.add(claims.user_id, claims.audit_id, claims.expires_at)

    def _signed_claims(self, token: str) -> Claims | None:
        prefix, _, rest = token.partition(".")
        payload, _, mac = rest.partition(".")
        if prefix != PREFIX or not token.isascii():
            return None
        with suppress(OSError):
            # Any of the keys: an older one was in use before a rotation.
            if any(hmac.compare_digest(_mac(key, payload), mac) for key in self._keys.current()):
                return _claims(payload)
        return None


def _values(claims: Claims) -> list[object]:
    return [
        claims.user_id, claims.project_id, claims.issued_at, claims.expires_at, claims.audit_id,
        list(claims.methods), claims.mark,
    ]  # fmt: skip


def _claims(payload: str) -> Claims:
    """Return what a payload says; its signature was verified, so its form is ours."""
    user_id, project_id, issued_at, expires_at, audit_id, methods, mark = json.loads(
        base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
    )
    return Claims(user_id, project_id, issued_at, expires_at, audit_id, tuple(methods), mark)


def _mac(key: bytes, payload: str) -> str:
    return _encoded(hmac.digest(key, f"{PREFIX}.{payload}".encode(), hashlib.sha256))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
