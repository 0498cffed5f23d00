"""Users, projects, roles and application credentials: a file beside the keys of tokens.

They are made over HTTP. The token file comes first: what it has cannot be changed here, and an
entry of the same id or name here does not count. Roles given here are added to those of the token
file.
"""

from __future__ import annotations

import dataclasses
import logging
import unicodedata
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from armillary import exception
from armillary.identity.accounts import Accounts, Project, User
from armillary.identity.application_credentials import PER_USER_MAX, ApplicationCredential
from armillary.identity.shared_file import SharedFile

LOG = logging.getLogger(__name__)

FILE = "accounts.json"
ENTRIES_MAX = 10_000
"""Maximum number of users, of projects, of roles, and of application credentials."""

Grants = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Roles by user and project."""

EntryT = TypeVar("EntryT", bound=User | Project)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Stored:
    """What is in the file; users, projects and credentials by id."""

    users: Mapping[str, User] = field(default_factory=dict)
    projects: Mapping[str, Project] = field(default_factory=dict)
    grants: Grants = field(default_factory=dict)
    roles: tuple[str, ...] = ()
    credentials: Mapping[str, ApplicationCredential] = field(default_factory=dict)


class StoredAccounts:
    """Reads and changes the file; thread-safe. ``listed`` gives the accounts of the token file."""

    def __init__(self, path: Path, listed: Callable[[], Accounts]) -> None:
        self._file = SharedFile(path, parse=_parse, plain=dataclasses.asdict)
        self._listed = listed
        self._merged: tuple[Accounts, Stored, Accounts] | None = None

    def merged(self) -> Accounts:
        """Return the accounts of the token file and those stored here.

        If the file cannot be read, its users and projects are unknown until it can.
        """
        listed, stored = self._listed(), self._readable()
        if stored is None:
            return listed
        known = self._merged
        if known is None or known[0] is not listed or known[1] is not stored:
            known = self._merged = (listed, stored, _merge(listed, stored))
        return known[2]

    def credentials(self) -> Mapping[str, ApplicationCredential]:
        """Return the application credentials by id; none if the file cannot be read."""
        stored = self._readable()
        return {} if stored is None else stored.credentials

    def _readable(self) -> Stored | None:
        try:
            return self._file.current()
        except (OSError, ValueError, KeyError, TypeError) as error:
            path = self._file.path
            LOG.error("Cannot read %s, so its users are rejected: %s", path, error)  # noqa: TRY400
            return None

    def add(self, entry: EntryT) -> EntryT:
        """Store a user or project under a new id. Raises AccountExists, QuotaExceeded."""
        made = dataclasses.replace(entry, id=uuid.uuid4().hex)
        self._file.change(lambda stored: _with_entry(stored, self._listed(), made))
        return made

    def update(self, kind: type[EntryT], entry_id: str, values: Mapping[str, Any]) -> EntryT:
        """Change fields of a user or project.

        Raises AccountNotFound, AccountFixed, AccountExists.
        """

        def change(stored: Stored) -> Stored:
            known, listed = _entries(stored, kind), self._listed()
            _require_stored(kind.__name__, known, _entries(listed, kind), entry_id)
            return _with_entry(stored, listed, dataclasses.replace(known[entry_id], **values))

        self._file.change(change)
        return _entries(self._file.current(), kind)[entry_id]

    def remove(self, kind: type[User | Project], entry_id: str) -> None:
        """Remove a user or project, its roles and credentials.

        Raises AccountNotFound, AccountFixed.
        """

        def change(stored: Stored) -> Stored:
            known = _entries(stored, kind)
            _require_stored(kind.__name__, known, _entries(self._listed(), kind), entry_id)
            grants = {
                user: _without(of_user, entry_id)
                for user, of_user in _without(stored.grants, entry_id).items()
            }
            owner = "user_id" if kind is User else "project_id"
            credentials = {
                key: each
                for key, each in stored.credentials.items()
                if getattr(each, owner) != entry_id
            }
            changed: dict[str, Any] = {_FIELDS[kind]: _without(known, entry_id), "grants": grants}
            return dataclasses.replace(stored, **changed, credentials=credentials)

        self._file.change(change)

    def add_credential(self, credential: ApplicationCredential) -> None:
        """Store an application credential. Raises AccountExists, QuotaExceeded."""

        def change(stored: Stored) -> Stored:
            user_id, name = credential.user_id, credential.name
            own = [each for each in stored.credentials.values() if each.user_id == user_id]
            if any(_as_read(each.name) == _as_read(name) for each in own):
                kind = "application credential"
                raise exception.AccountExists(kind=kind, field="name", value=name)
            kinds = "application credentials"
            _require_room(kinds, own, PER_USER_MAX)
            _require_room(kinds, stored.credentials)
            known = {**stored.credentials, credential.id: credential}
            return dataclasses.replace(stored, credentials=known)

        self._file.change(change)

    def remove_credential(self, credential_id: str) -> None:
        """Remove an application credential, whose tokens end. Raises AccountNotFound."""

        def change(stored: Stored) -> Stored:
            _require_stored("application credential", stored.credentials, (), credential_id)
            known = _without(stored.credentials, credential_id)
            return dataclasses.replace(stored, credentials=known)

        self._file.change(change)

    def add_role(self, role: str) -> None:
        """Store the name of a role. Raises AccountExists, QuotaExceeded."""

        def change(stored: Stored) -> Stored:
            if role in self._listed().roles or role in stored.roles:
                raise exception.AccountExists(kind="role", field="name", value=role)
            _require_room("roles", stored.roles)
            return dataclasses.replace(stored, roles=(*stored.roles, role))

        self._file.change(change)

    def remove_role(self, role: str) -> None:
        """Remove a role from all that have it. Raises AccountNotFound, AccountFixed."""

        def change(stored: Stored) -> Stored:
            _require_stored("role", stored.roles, self._listed().roles, role)
            grants = {
                user: {project: _less(roles, role) for project, roles in of_user.items()}
                for user, of_user in stored.grants.items()
            }
            return dataclasses.replace(stored, roles=_less(stored.roles, role), grants=grants)

        self._file.change(change)

    def grant(self, user_id: str, project_id: str, role: str) -> None:
        """Assign a role in a project to a user; repeating it changes nothing."""

        def change(stored: Stored) -> Stored:
            given = stored.grants.get(user_id, {}).get(project_id, ())
            return _with_grant(stored, user_id, project_id, (*_less(given, role), role))

        self._file.change(change)

    def revoke(self, user_id: str, project_id: str, role: str) -> None:
        """Revoke a user's role in a project. Raises AccountNotFound, AccountFixed."""
        user = self._listed().users.get(user_id)
        fixed = user.roles.get(project_id, ()) if user is not None else ()

        def change(stored: Stored) -> Stored:
            given = stored.grants.get(user_id, {}).get(project_id, ())
            _require_stored("role", given, fixed, role)
            return _with_grant(stored, user_id, project_id, _less(given, role))

        self._file.change(change)


_FIELDS: Mapping[type, str] = {User: "users", Project: "projects"}


def _entries(accounts: Accounts | Stored, kind: type[EntryT]) -> Mapping[str, EntryT]:
    """Return the users or the projects by id."""
    found: Mapping[str, EntryT] = getattr(accounts, _FIELDS[kind])
    return found


def _with_entry(stored: Stored, listed: Accounts, entry: User | Project) -> Stored:
    """Return what is stored with a new or changed entry. Raises AccountExists, QuotaExceeded."""
    field = _FIELDS[type(entry)]
    others = _without(_entries(stored, type(entry)), entry.id)
    known = [*_entries(listed, type(entry)).values(), *others.values()]
    if any(_as_read(entry.name) == _as_read(other.name) for other in known):
        raise exception.AccountExists(kind=field[:-1], field="name", value=entry.name)
    _require_room(field, known)
    changed: dict[str, Any] = {field: {**others, entry.id: entry}}
    return dataclasses.replace(stored, **changed)


def _as_read(name: str) -> str:
    """Return a name with one spelling of what reads the same, such as a letter with its accent."""
    return unicodedata.normalize("NFKC", name)


def _merge(listed: Accounts, stored: Stored) -> Accounts:
    projects = _newer(listed.projects, stored.projects)
    users = [
        dataclasses.replace(user, roles=_with_roles(user.roles, grants, projects))
        if (grants := stored.grants.get(user.id))
        else user
        for user in _newer(listed.users, stored.users).values()
    ]
    return Accounts(users, projects.values(), stored.roles)


def _newer(listed: Mapping[str, EntryT], stored: Mapping[str, EntryT]) -> dict[str, EntryT]:
    """Return the entries of both; of the same name or id only that of the token file."""
    names = {entry.name for entry in listed.values()}
    return {**{key: each for key, each in stored.items() if each.name not in names}, **listed}


def _with_roles(
    roles: Mapping[str, tuple[str, ...]],
    grants: Mapping[str, tuple[str, ...]],
    projects: Mapping[str, Project],
) -> dict[str, tuple[str, ...]]:
    added = {
        project_id: tuple(dict.fromkeys((*roles.get(project_id, ()), *given)))
        for project_id, given in grants.items()
        if given and project_id in projects
    }
    return {**roles, **added}


def _with_grant(stored: Stored, user_id: str, project_id: str, roles: tuple[str, ...]) -> Stored:
    of_user = _without(stored.grants.get(user_id, {}), project_id)
    if roles:
        of_user[project_id] = roles
    grants = _without(stored.grants, user_id)
    if of_user:
        grants[user_id] = of_user
    return dataclasses.replace(stored, grants=grants)


def _require_room(kinds: str, known: Collection[object], limit: int = ENTRIES_MAX) -> None:
    number = len(known)
    if number >= limit:
        raise exception.QuotaExceeded(resource=kinds, requested=1, used=number, limit=limit)


def _require_stored(
    kind: str, stored: Collection[str], listed: Collection[str], entry_id: str
) -> None:
    if entry_id in listed:
        raise exception.AccountFixed(kind=kind.lower(), account=entry_id)
    if entry_id not in stored:
        raise exception.AccountNotFound(kind=kind.lower(), account=entry_id)


def _without(entries: Mapping[str, V], key: str) -> dict[str, V]:
    return {other: value for other, value in entries.items() if other != key}


def _less(roles: tuple[str, ...], role: str) -> tuple[str, ...]:
    return tuple(other for other in roles if other != role)


def _parse(value: dict[str, Any]) -> Stored:
    return Stored(
        {key: User(**entry) for key, entry in value.get("users", {}).items()},
        {key: Project(**entry) for key, entry in value.get("projects", {}).items()},
        {
            user: {project: tuple(roles) for project, roles in of_user.items()}
            for user, of_user in value.get("grants", {}).items()
        },
        tuple(value.get("roles", ())),
        {key: _credential(entry) for key, entry in value.get("credentials", {}).items()},
    )


def _credential(entry: dict[str, Any]) -> ApplicationCredential:
    return ApplicationCredential(**{**entry, "roles": tuple(entry["roles"])})
