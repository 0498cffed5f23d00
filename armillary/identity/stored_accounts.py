"""Users, projects and roles made over HTTP: a file beside the keys of tokens.

The token file comes first: what it has cannot be changed here, and an entry of the same id or name
here does not count. Roles given here are added to those of the token file.
"""

from __future__ import annotations

import dataclasses
import logging
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from armillary import exception
from armillary.identity.accounts import Accounts, Project, User
from armillary.identity.shared_file import SharedFile

LOG = logging.getLogger(__name__)

FILE = "accounts.json"
ENTRIES_MAX = 10_000
"""Maximum number of users, of projects, and of roles."""

Grants = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Roles by user and project."""

EntryT = TypeVar("EntryT", bound=User | Project)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Stored:
    """What is in the file; users and projects by id."""

    users: Mapping[str, User] = field(default_factory=dict)
    projects: Mapping[str, Project] = field(default_factory=dict)
    grants: Grants = field(default_factory=dict)
    roles: tuple[str, ...] = ()


Change = Callable[[Stored], Stored]


class StoredAccounts:
    """Reads and changes the file; thread-safe."""

    def __init__(self, path: Path) -> None:
        self._file = SharedFile(path, parse=_parse, plain=_plain)
        self._merged: tuple[Accounts, Stored, Accounts] | None = None

    def merged_with(self, listed: Accounts) -> Accounts:
        """Return the accounts of the token file and those stored here.

        If the file cannot be read, its users and projects are unknown until it can.
        """
        try:
            stored = self._file.current()
        except (OSError, ValueError, KeyError, TypeError) as error:
            path = self._file.path
            LOG.error("Cannot read %s, so its users are rejected: %s", path, error)  # noqa: TRY400
            return listed
        known = self._merged
        if known is None or known[0] is not listed or known[1] is not stored:
            known = self._merged = (listed, stored, _merge(listed, stored))
        return known[2]

    def add_user(self, listed: Accounts, user: User) -> User:
        """Store a user under a new id. Raises AccountExists, QuotaExceeded."""
        made = dataclasses.replace(user, id=uuid.uuid4().hex)

        def change(stored: Stored) -> Stored:
            _require_new("user", made, [*listed.users.values(), *stored.users.values()])
            return dataclasses.replace(stored, users={**stored.users, made.id: made})

        self._file.change(change)
        return made

    def add_project(self, listed: Accounts, project: Project) -> Project:
        """Store a project under a new id. Raises AccountExists, QuotaExceeded."""
        made = dataclasses.replace(project, id=uuid.uuid4().hex)

        def change(stored: Stored) -> Stored:
            _require_new("project", made, [*listed.projects.values(), *stored.projects.values()])
            return dataclasses.replace(stored, projects={**stored.projects, made.id: made})

        self._file.change(change)
        return made

    def update_user(self, listed: Accounts, user_id: str, values: Mapping[str, Any]) -> User:
        """Change fields of a user. Raises AccountNotFound, AccountFixed, AccountExists."""

        def change(stored: Stored) -> Stored:
            users = _updated("user", stored.users, listed.users, user_id, values)
            return dataclasses.replace(stored, users=users)

        self._file.change(change)
        return self._file.current().users[user_id]

    def update_project(
        self, listed: Accounts, project_id: str, values: Mapping[str, Any]
    ) -> Project:
        """Change fields of a project. Raises AccountNotFound, AccountFixed, AccountExists."""

        def change(stored: Stored) -> Stored:
            projects = _updated("project", stored.projects, listed.projects, project_id, values)
            return dataclasses.replace(stored, projects=projects)

        self._file.change(change)
        return self._file.current().projects[project_id]

    def remove_user(self, listed: Accounts, user_id: str) -> None:
        """Remove a user with all roles. Raises AccountNotFound, AccountFixed."""

        def change(stored: Stored) -> Stored:
            _require_stored("user", stored.users, listed.users, user_id)
            users, grants = _without(stored.users, user_id), _without(stored.grants, user_id)
            return dataclasses.replace(stored, users=users, grants=grants)

        self._file.change(change)

    def remove_project(self, listed: Accounts, project_id: str) -> None:
        """Remove a project, and all roles in it. Raises AccountNotFound, AccountFixed."""

        def change(stored: Stored) -> Stored:
            _require_stored("project", stored.projects, listed.projects, project_id)
            grants = {
                user: _without(of_user, project_id) for user, of_user in stored.grants.items()
            }
            projects = _without(stored.projects, project_id)
            return dataclasses.replace(stored, projects=projects, grants=grants)

        self._file.change(change)

    def add_role(self, listed: Accounts, role: str) -> None:
        """Store the name of a role. Raises AccountExists, QuotaExceeded."""

        def change(stored: Stored) -> Stored:
            if role in listed.roles or role in stored.roles:
                raise exception.AccountExists(kind="role", field="name", value=role)
            _require_room("roles", stored.roles)
            return dataclasses.replace(stored, roles=(*stored.roles, role))

        self._file.change(change)

    def remove_role(self, listed: Accounts, role: str) -> None:
        """Remove a role from all that have it. Raises AccountNotFound, AccountFixed."""

        def change(stored: Stored) -> Stored:
            _require_stored("role", dict.fromkeys(stored.roles), dict.fromkeys(listed.roles), role)
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

    def revoke(self, listed: Accounts, user_id: str, project_id: str, role: str) -> None:
        """Revoke a user's role in a project. Raises AccountNotFound, AccountFixed."""
        user = listed.users.get(user_id)

        def change(stored: Stored) -> Stored:
            given = stored.grants.get(user_id, {}).get(project_id, ())
            fixed = user.roles.get(project_id, ()) if user is not None else ()
            _require_stored("role", dict.fromkeys(given), dict.fromkeys(fixed), role)
            return _with_grant(stored, user_id, project_id, _less(given, role))

        self._file.change(change)


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


def _updated(
    kind: str,
    stored: Mapping[str, EntryT],
    listed: Mapping[str, EntryT],
    entry_id: str,
    values: Mapping[str, Any],
) -> dict[str, EntryT]:
    _require_stored(kind, stored, listed, entry_id)
    changed = dataclasses.replace(stored[entry_id], **values)
    others = {other: entry for other, entry in stored.items() if other != entry_id}
    _require_new(kind, changed, [*listed.values(), *others.values()])
    return {**others, entry_id: changed}


def _require_new(kind: str, entry: EntryT, known: list[EntryT]) -> None:
    if any(entry.name == other.name for other in known):
        raise exception.AccountExists(kind=kind, field="name", value=entry.name)
    _require_room(f"{kind}s", known)


def _require_room(kinds: str, known: Iterable[object]) -> None:
    number = len(list(known))
    if number >= ENTRIES_MAX:
        raise exception.QuotaExceeded(resource=kinds, requested=1, used=number, limit=ENTRIES_MAX)


def _require_stored(
    kind: str, stored: Mapping[str, object], listed: Mapping[str, object], entry_id: str
) -> None:
    if entry_id in listed:
        raise exception.AccountFixed(kind=kind, account=entry_id)
    if entry_id not in stored:
        raise exception.AccountNotFound(kind=kind, account=entry_id)


def _without(entries: Mapping[str, V], key: str) -> dict[str, V]:
    return {other: value for other, value in entries.items() if other != key}


def _less(roles: tuple[str, ...], role: str) -> tuple[str, ...]:
    return tuple(other for other in roles if other != role)


def _plain(stored: Stored) -> object:
    return dataclasses.asdict(stored)


def _parse(value: dict[str, Any]) -> Stored:
    return Stored(
        {key: User(**entry) for key, entry in value.get("users", {}).items()},
        {key: Project(**entry) for key, entry in value.get("projects", {}).items()},
        {
            user: {project: tuple(roles) for project, roles in of_user.items()}
            for user, of_user in value.get("grants", {}).items()
        },
        tuple(value.get("roles", ())),
    )
