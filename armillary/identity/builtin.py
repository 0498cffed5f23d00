"""Identity of a request by either kind of token: one of the token file, or an issued one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from oslo_config import cfg

from armillary import exception
from armillary.identity import passwords
from armillary.identity.accounts import Accounts, Project, User
from armillary.identity.signed_tokens import Claims, SignedTokens
from armillary.identity.stored_accounts import FILE, StoredAccounts
from armillary.identity.token_file import FileToken, TokenFile

FILE_AUDIT_ID = "token-file"
"""Audit id of all tokens of the file: they are revoked by removing them from it."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a valid token: the user, and the roles in the project, if it has one.

    ``listed`` is the token of the file that it is, or was got with; None: it was got with a
    password.
    """

    claims: Claims
    user: User
    project: Project | None
    roles: tuple[str, ...]
    listed: FileToken | None


class BuiltInIdentity:
    """Users and tokens of a deployment; thread-safe.

    ``lifetime_seconds`` is the maximum for a new token.
    """

    def __init__(
        self,
        file: TokenFile,
        signed: SignedTokens,
        stored: StoredAccounts,
        *,
        lifetime_seconds: int,
        clock: Callable[[], float],
    ) -> None:
        self.file = file
        self.signed = signed
        self.stored = stored
        self._lifetime_seconds = lifetime_seconds
        self._clock = clock

    @classmethod
    def from_conf(
        cls, conf: cfg.ConfigOpts, clock: Callable[[], float] = time.time
    ) -> BuiltInIdentity:
        """Return the identity of ``auth_strategy = token_file``. Raises ``ConfigurationError``."""
        if not conf.api.token_file:
            raise exception.ConfigurationError(
                reason="[api] token_file must be set with auth_strategy = token_file"
            )
        directory = Path(conf.identity.state_dir)
        file = TokenFile(Path(conf.api.token_file))
        return cls(
            file,
            SignedTokens(directory, clock),
            StoredAccounts(directory / FILE, file.accounts),
            lifetime_seconds=conf.identity.token_lifetime_seconds,
            clock=clock,
        )

    def accounts(self) -> Accounts:
        """Return the users and projects of now."""
        return self.stored.merged()

    def find(self, token: str) -> Holder | None:
        """Return who holds a valid token, None for any other.

        An issued token ends with the password or the token of the file that it was got with, or
        the last role in its project; any token ends when its user or project is disabled.
        """
        listed = self.file.find(token)
        claims = self.signed.verify(token) if listed is None else self._claims_of(listed)
        if listed is None and claims is not None:
            listed = self._got_with(claims)
        accounts = self.accounts()
        user = accounts.users.get(claims.user_id) if claims is not None else None
        if claims is None or user is None or not user.is_enabled:
            return None
        if listed is None and password_mark(user) != claims.mark:
            return None
        project = None
        if claims.project_id is not None:
            project = accounts.projects.get(claims.project_id)
            if project is None or not project.is_enabled or project.id not in user.roles:
                return None
        roles: tuple[str, ...] = ()
        if project is not None:
            roles = user.roles[project.id] if listed is None else listed.identity.roles
        return Holder(claims, user, project, roles, listed)

    def end_tokens(self, user_id: str) -> None:
        """End all tokens issued to a user until now. Raises OSError."""
        self.signed.revoke_all(user_id, self.expiry(None))

    def expiry(self, earlier: Claims | None) -> int:
        """Return when a new token expires: not after the one that it was got with."""
        expires_at = int(self._clock()) + self._lifetime_seconds
        return expires_at if earlier is None else min(expires_at, earlier.expires_at)

    def _got_with(self, claims: Claims) -> FileToken | None:
        found = self.file.find_marked(claims.mark)
        if found is None or found.identity.user != claims.user_id:
            return None
        return found if claims.project_id in (None, found.identity.project) else None

    def _claims_of(self, listed: FileToken) -> Claims:
        now = int(self._clock())
        expires_at = now + self._lifetime_seconds
        if listed.expires is not None:
            expires_at = min(expires_at, int(listed.expires.timestamp()))
        owner = listed.identity
        return Claims(
            owner.user, owner.project, now, expires_at, FILE_AUDIT_ID, ("token",), listed.mark
        )


def password_mark(user: User) -> str:
    """Return what changes with a user's password."""
    return passwords.fingerprint(user.password)
