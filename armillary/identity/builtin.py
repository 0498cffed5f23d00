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
from armillary.identity.application_credentials import ApplicationCredential, id_in
from armillary.identity.signed_tokens import Claims, SignedTokens
from armillary.identity.stored_accounts import FILE, StoredAccounts
from armillary.identity.token_file import FileToken, TokenFile

FILE_AUDIT_ID = "token-file"
"""Audit id of all tokens of the file: they are revoked by removing them from it."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a valid token: the user, and the roles in the project, if it has one.

    ``listed`` is the token of the file that it is, or was got with, ``credential`` the application
    credential that it was got with. If both are None, it was got with a password.
    """

    claims: Claims
    user: User
    project: Project | None
    roles: tuple[str, ...]
    listed: FileToken | None = None
    credential: ApplicationCredential | None = None

    @property
    def only_project_id(self) -> str | None:
        """The only project that what is got with the token may be for; None: any."""
        if self.listed is not None:
            return self.listed.identity.project
        return None if self.credential is None else self.credential.project_id


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

        An issued token ends with the password, the application credential or the token of the file
        that it was got with, or the last role in its project; any token ends when its user or
        project is disabled.
        """
        listed = self.file.find(token)
        claims = self.signed.verify(token) if listed is None else self._claims_of(listed)
        if claims is None:
            return None
        accounts = self.accounts()
        user = accounts.users.get(claims.user_id)
        if user is None or not user.is_enabled:
            return None
        listed = listed or self._got_with(claims)
        credential = None if listed is not None else self._credential_of(claims)
        if listed is None and credential is None and password_mark(user) != claims.mark:
            return None
        project, roles = None, _roles(user, claims.project_id, listed, credential)
        if claims.project_id is not None:
            project = accounts.projects.get(claims.project_id)
            if project is None or not project.is_enabled or not roles:
                return None
        return Holder(claims, user, project, roles, listed, credential)

    def end_tokens(self, user_id: str) -> None:
        """End all tokens issued to a user until now. Raises OSError."""
        self.signed.revoke_all(user_id, self.expiry(None))

    def expiry(self, not_after: int | None) -> int:
        """Return when a new token expires, in seconds since 1970: not after what it is got with."""
        expires_at = int(self._clock()) + self._lifetime_seconds
        return expires_at if not_after is None else min(expires_at, not_after)

    def is_expired(self, credential: ApplicationCredential) -> bool:
        """Return whether it is too late to log in with an application credential."""
        return credential.is_expired(self._clock())

    def _got_with(self, claims: Claims) -> FileToken | None:
        found = self.file.find_marked(claims.mark)
        if found is None or found.identity.user != claims.user_id:
            return None
        return found if claims.project_id in (None, found.identity.project) else None

    def _credential_of(self, claims: Claims) -> ApplicationCredential | None:
        credential_id = id_in(claims.mark)
        found = self.stored.credentials().get(credential_id) if credential_id else None
        if found is None or found.user_id != claims.user_id or self.is_expired(found):
            return None
        return found if claims.project_id in (None, found.project_id) else None

    def _claims_of(self, listed: FileToken) -> Claims:
        now = int(self._clock())
        expires_at = now + self._lifetime_seconds
        if listed.expires is not None:
            expires_at = min(expires_at, int(listed.expires.timestamp()))
        owner = listed.identity
        return Claims(
            owner.user, owner.project, now, expires_at, FILE_AUDIT_ID, ("token",), listed.mark
        )


def _roles(
    user: User,
    project_id: str | None,
    listed: FileToken | None,
    credential: ApplicationCredential | None,
) -> tuple[str, ...]:
    """Return the roles of a token, none if its user has no role in its project."""
    if project_id is None or project_id not in user.roles:
        return ()
    if listed is not None:
        return listed.identity.roles
    return user.roles[project_id] if credential is None else credential.roles_of(user)


def password_mark(user: User) -> str:
    """Return what changes with a user's password."""
    return passwords.fingerprint(user.password)
