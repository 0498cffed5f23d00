"""Application credentials: secrets with which programs log in as a user, in one project."""

from __future__ import annotations

from dataclasses import dataclass

from armillary.identity.accounts import User, with_implied_roles

PER_USER_MAX = 100

_MARK = "credential:"


@dataclass(frozen=True, slots=True)
class ApplicationCredential:
    """What a program logs in with instead of its user's password.

    ``secret`` is its hash, ``expires_at`` in seconds since 1970. With a token that was got with one
    no application credential is created or deleted, unless it is unrestricted.
    """

    id: str
    name: str
    user_id: str
    project_id: str
    secret: str
    roles: tuple[str, ...]
    expires_at: int | None = None
    description: str | None = None
    is_unrestricted: bool = False

    @property
    def mark(self) -> str:
        """What an issued token holds that was got with this credential."""
        return f"{_MARK}{self.id}"

    def is_expired(self, now: float) -> bool:
        """Return whether it is too late to log in; ``now`` is in seconds since 1970."""
        return self.expires_at is not None and self.expires_at <= now

    def roles_of(self, user: User) -> tuple[str, ...]:
        """Return those of its roles that its user still has in its project."""
        held = with_implied_roles(user.roles.get(self.project_id, ()))
        return tuple(role for role in self.roles if role in held)


def id_in(mark: str) -> str | None:
    """Return the id of the credential that a token with this mark was got with, if it was."""
    return mark.removeprefix(_MARK) if mark.startswith(_MARK) else None
