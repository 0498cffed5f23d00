"""Expiring tokens that are signed, not stored: every process with the same keys accepts them.

A token holds who got it and until when; the roles are looked up when it is used. Keys and
revocations are files in one directory, shared by the processes of the deployment.
"""

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armillary.identity.revocations import Revocations
from armillary.keys import signed_text
from armillary.keys.key_file import KeyFile

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
        return signed_text.seal(PREFIX, _values(claims), keys[0]), claims

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

    def revoke_all(self, user_id: str, expires_at: int) -> None:
        """Make all tokens of a user invalid, the last of which ends then. Raises OSError."""
        self._revocations.add_all(user_id, expires_at)

    def _signed_claims(self, token: str) -> Claims | None:
        with suppress(OSError):
            # Any of the keys: an older one was in use before a rotation.
            values = signed_text.open_sealed(PREFIX, token, self._keys.current())
            return None if values is None else _claims(values)
        return None


def _values(claims: Claims) -> list[object]:
    return [
        claims.user_id, claims.project_id, claims.issued_at, claims.expires_at, claims.audit_id,
        list(claims.methods), claims.mark,
    ]  # fmt: skip


def _claims(values: Sequence[Any]) -> Claims:
    """Return what a token says; its signature was verified, so its form is ours."""
    user_id, project_id, issued_at, expires_at, audit_id, methods, mark = values
    return Claims(user_id, project_id, issued_at, expires_at, audit_id, tuple(methods), mark)
