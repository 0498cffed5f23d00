"""Users and projects, and how the token file lists them."""

import functools
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from armillary.identity import passwords

DOMAIN_ID = "default"
DOMAIN_NAME = "Default"

IMPLIED_ROLES = {
    "admin": ("member", "reader"), "manager": ("member", "reader"), "member": ("reader",),
}  # fmt: skip
"""As in Keystone. What Nova's defaults leave to managers, moves within a project, is for admins."""

ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$"

_TEXT = {"type": "string", "minLength": 1, "maxLength": 255}
_ID = {"type": "string", "pattern": ID_PATTERN}
_ROLES = {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 64}

USERS_SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "name": _TEXT,
            "id": _ID,
            "password": {"type": "string", "maxLength": 512},
            "default_project": _TEXT,
            "enabled": {"type": "boolean"},
            "projects": {"type": "object", "additionalProperties": _ROLES},
        },
        "required": ["name"],
        "additionalProperties": False,
    },
}
PROJECTS_SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "name": _TEXT,
            "id": _ID,
            "description": {"type": "string", "maxLength": 4096},
            "enabled": {"type": "boolean"},
        },
        "required": ["name"],
        "additionalProperties": False,
    },
}


@dataclass(frozen=True, slots=True)
class Project:
    """A project. Its id is what servers and quotas are recorded under."""

    id: str
    name: str
    description: str = ""
    is_enabled: bool = True


@dataclass(frozen=True, slots=True)
class User:
    """A user, with roles by project id. One without a password has tokens of the file only."""

    id: str
    name: str
    password: str | None = None
    default_project_id: str | None = None
    is_enabled: bool = True
    email: str | None = None
    description: str | None = None
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


AccountT = TypeVar("AccountT", User, Project)

Bearer = tuple[str, str | None, tuple[str, ...]]
"""User, project and roles of a token in the file."""


def with_implied_roles(roles: Iterable[str]) -> list[str]:
    """Return the roles with the roles they imply."""
    roles = set(roles)
    implied = {other for role in roles for other in IMPLIED_ROLES.get(role, ())}
    return sorted(roles | implied)


class Accounts:
    """All users and projects, by id; names are unique within each kind."""

    def __init__(
        self, users: Iterable[User], projects: Iterable[Project], roles: Iterable[str] = ()
    ) -> None:
        self.users = {user.id: user for user in users}
        self.projects = {project.id: project for project in projects}
        self._more_roles = set(roles)

    def hash_for_unknown(self, given: str) -> str:
        """Return what to compare the password of a user with who does not exist, or has none.

        It has the cost of the hash of one of the users. Which one, is chosen by what only they and
        their hashes decide: costs are as frequent among unknown names as among users, and the time
        of a refusal does not reveal which of both a name is.
        """
        lines = self._password_lines
        if len({passwords.cost(line) for line in lines}) < 2:
            return passwords.hash_of_no_password(*map(passwords.cost, lines[:1]))

        def rank(line: str) -> bytes:
            return hashlib.sha256(f"{line} {given}".encode("utf-8", "surrogatepass")).digest()

        return passwords.hash_of_no_password(passwords.cost(min(lines, key=rank)))

    @functools.cached_property
    def _password_lines(self) -> list[str]:
        return [user.password for user in self.users.values() if user.password is not None]

    @property
    def roles(self) -> list[str]:
        """Names of all roles: those known to the policies, and those that users have."""
        given = {role for user in self.users.values() for roles in user.roles.values()
                 for role in roles}  # fmt: skip
        return sorted(given | self._more_roles | {"admin", "member", "reader"})

    def find_user(self, *, id: str | None = None, name: str | None = None) -> User | None:  # noqa: A002
        """Return the user with this id, or with this name."""
        return _find(self.users, id, name)

    def find_project(self, *, id: str | None = None, name: str | None = None) -> Project | None:  # noqa: A002
        """Return the project with this id, or with this name."""
        return _find(self.projects, id, name)

    def projects_of(self, user: User) -> list[Project]:
        """Return the enabled projects in which the user has a role, by name."""
        found = [self.projects[project_id] for project_id in user.roles]
        return sorted((each for each in found if each.is_enabled), key=lambda each: each.name)


def _find(known: Mapping[str, AccountT], id_: str | None, name: str | None) -> AccountT | None:
    if id_ is not None:
        return known.get(id_)
    return next((each for each in known.values() if each.name == name), None)


def make_accounts(content: Mapping[str, Any], bearers: Iterable[Bearer]) -> Accounts:
    """Return the accounts of a file that matches the schemas; those of its tokens among them.

    Raises ``ValueError``, which names the place.
    """
    by_name = _projects(content)
    users = _users(content, by_name)
    projects = {project.id: project for project in by_name.values()}
    for user_id, project_id, roles in bearers:
        if project_id is None:
            continue
        projects.setdefault(project_id, Project(project_id, project_id))
        user = users.get(user_id) or User(user_id, user_id)
        every = dict.fromkeys((*user.roles.get(project_id, ()), *roles))
        merged = {**user.roles, project_id: tuple(every)}
        users[user_id] = User(
            user.id, user.name, user.password, user.default_project_id or project_id,
            user.is_enabled, roles=merged,
        )  # fmt: skip
    return Accounts(users.values(), projects.values())


def _projects(content: Mapping[str, Any]) -> dict[str, Project]:
    """Return the projects by name."""
    projects: dict[str, Project] = {}
    for index, entry in enumerate(content.get("projects", ())):
        project = Project(
            _id(entry, f"projects[{index}]"),
            entry["name"],
            entry.get("description", ""),
            entry.get("enabled", True),
        )
        _require_new(project, projects.values(), f"projects[{index}]")
        projects[project.name] = project
    return projects


def _users(content: Mapping[str, Any], projects: dict[str, Project]) -> dict[str, User]:
    """Return the users by id; projects that only they name are added to ``projects``."""
    users: dict[str, User] = {}
    for index, entry in enumerate(content.get("users", ())):
        place = f"users[{index}]"
        granted: Mapping[str, list[str]] = entry.get("projects", {})
        for name in granted:
            if name not in projects:
                project = Project(_id({"name": name}, place), name)
                _require_new(project, projects.values(), place)
                projects[name] = project
        user = User(
            _id(entry, place),
            entry["name"],
            _password(entry, place),
            _default_project_id(entry, projects, place),
            entry.get("enabled", True),
            roles={projects[name].id: tuple(roles) for name, roles in granted.items()},
        )
        _require_new(user, users.values(), place)
        users[user.id] = user
    return users


def _id(entry: Mapping[str, Any], place: str) -> str:
    """Return the id of an entry, which is its name unless stated."""
    found: str = entry.get("id", entry["name"])
    if not re.fullmatch(ID_PATTERN, found):
        raise ValueError(f"{place}: the name {found!r} cannot be an id; give it an id")
    return found


def _password(entry: Mapping[str, Any], place: str) -> str | None:
    line: str | None = entry.get("password")
    if line is not None:
        try:
            passwords.check_form(line)
        except ValueError as error:
            raise ValueError(f"{place}.password: {error}") from error
    return line


def _default_project_id(
    entry: Mapping[str, Any], projects: Mapping[str, Project], place: str
) -> str | None:
    """Return the id of the default project: the stated one, or the user's only one."""
    granted = entry.get("projects", {})
    default = entry.get("default_project")
    if default is None:
        return projects[next(iter(granted))].id if len(granted) == 1 else None
    if default not in granted:
        raise ValueError(f"{place}.default_project: the user has no role in {default}")
    return projects[default].id


def _require_new(entry: AccountT, known: Iterable[AccountT], place: str) -> None:
    if any(entry.name == other.name or entry.id == other.id for other in known):
        raise ValueError(f"{place}: another entry has the name {entry.name} or the id {entry.id}")
