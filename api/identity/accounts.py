"""Users, projects, roles and what else clients look up by name."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from api.identity.call import Call
from api.identity.catalog import NAMES
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.identity.accounts import DOMAIN_ID, DOMAIN_NAME, Project, User


@dataclass(frozen=True, slots=True)
class Collection:
    """A kind of object: ``list`` returns all of them; a query selects by their fields."""

    plural: str
    singular: str
    list: Callable[[Call], Iterable[Document]]

    def index(self, call: Call) -> Answer:
        """List the objects."""
        items = [item for item in self.list(call) if _matches(item, call.query)]
        return Answer(listed(call, self.plural, items))

    def show(self, call: Call) -> Answer:
        """Show one object."""
        (wanted,) = call.path.values()
        for item in self.list(call):
            if item["id"] == wanted:
                return Answer({self.singular: item})
        raise exception.NotFound(f"Could not find {self.singular}: {wanted}.")


def _users(call: Call) -> Iterable[Document]:
    return (user_document(call, user) for user in call.identity.accounts().users.values())


def _projects(call: Call) -> Iterable[Document]:
    return (
        project_document(call, project) for project in call.identity.accounts().projects.values()
    )


def _roles(call: Call) -> Iterable[Document]:
    return (role_document(call, role) for role in call.identity.accounts().roles)


def _domains(call: Call) -> Iterable[Document]:
    yield {
        "id": DOMAIN_ID, "name": DOMAIN_NAME, "enabled": True, "description": "The only domain",
        "options": {}, "tags": [], "links": {"self": f"{call.root}/domains/{DOMAIN_ID}"},
    }  # fmt: skip


def _services(call: Call) -> Iterable[Document]:
    for service in call.site.catalog.services(call.origin, call.context.project_id):
        yield {
            "id": service.id, "type": service.type, "enabled": True, "description": "",
            "name": NAMES.get(service.type, service.type),
            "links": {"self": f"{call.root}/services/{service.id}"},
        }  # fmt: skip


def _endpoints(call: Call) -> Iterable[Document]:
    for service in call.site.catalog.services(call.origin, call.context.project_id):
        for endpoint in call.site.catalog.endpoints(service):
            yield {**endpoint, "links": {"self": f"{call.root}/endpoints/{endpoint['id']}"}}


def _regions(call: Call) -> Iterable[Document]:
    region = call.site.catalog.region
    yield {
        "id": region, "description": "", "parent_region_id": None,
        "links": {"self": f"{call.root}/regions/{region}"},
    }  # fmt: skip


def _groups(call: Call) -> Iterable[Document]:
    return ()


_OF_OTHERS = frozenset(
    {"group.id", "scope.domain.id", "scope.system", "scope.OS-INHERIT:inherited_to"}
)
"""Filters of role assignments that none here fits."""
USERS = Collection("users", "user", _users)
PROJECTS = Collection("projects", "project", _projects)
ROLES = Collection("roles", "role", _roles)
DOMAINS = Collection("domains", "domain", _domains)
SERVICES = Collection("services", "service", _services)
ENDPOINTS = Collection("endpoints", "endpoint", _endpoints)
GROUPS = Collection("groups", "group", _groups)
"""There are none; clients list them, and look names up there."""
REGIONS = Collection("regions", "region", _regions)


def user_of_path(call: Call) -> Document:
    """Return the policy target of a request about a user."""
    return {"user_id": call.path["user_id"]}


def project_of_path(call: Call) -> Document:
    """Return the policy target of a request about a project: its users see it."""
    user = call.identity.accounts().users.get(call.context.user_id or "")
    is_member = user is not None and call.path["project_id"] in user.roles
    return {"user_id": call.context.user_id if is_member else None}


def own_projects(call: Call) -> Answer:
    """List the projects for which the caller can get a token."""
    return _projects_of(call, call.context.user_id or "")


def projects_of_user(call: Call) -> Answer:
    """List the projects in which a user has a role."""
    return _projects_of(call, call.path["user_id"])


def own_domains(call: Call) -> Answer:
    """List the domains for which the caller can get a token: none."""
    return Answer(listed(call, "domains", []))


def groups_of_user(call: Call) -> Answer:
    """List the groups of a user: there are none."""
    return Answer(listed(call, "groups", []))


def role_assignments(call: Call) -> Answer:
    """List who has which role in which project; none is a group's, or for a domain or system."""
    if not _OF_OTHERS.isdisjoint(call.query):
        return Answer(listed(call, "role_assignments", []))
    accounts = call.identity.accounts()
    found = [
        _assignment(call, user, accounts.projects[project_id], role)
        for user in accounts.users.values()
        if call.query.get("user.id") in (None, user.id)
        for project_id, roles in user.roles.items()
        if call.query.get("scope.project.id") in (None, project_id)
        for role in roles
        if call.query.get("role.id") in (None, role)
    ]
    return Answer(listed(call, "role_assignments", found))


def _projects_of(call: Call, user_id: str) -> Answer:
    accounts = call.identity.accounts()
    user = accounts.users.get(user_id)
    if user is None:
        raise exception.NotFound(f"Could not find user: {user_id}.")
    projects = [project_document(call, project) for project in accounts.projects_of(user)]
    return Answer(listed(call, "projects", [p for p in projects if _matches(p, call.query)]))


def role_document(call: Call, role: str) -> Document:
    """Return a role as answers show it."""
    return {
        "id": role, "name": role, "domain_id": None, "description": None, "options": {},
        "links": {"self": f"{call.root}/roles/{role}"},
    }  # fmt: skip


def user_document(call: Call, user: User) -> Document:
    """Return a user as answers show one; email and description if there are any."""
    more = {"email": user.email, "description": user.description}
    return {
        **{name: value for name, value in more.items() if value is not None},
        "id": user.id, "name": user.name, "domain_id": DOMAIN_ID, "enabled": user.is_enabled,
        "default_project_id": user.default_project_id, "password_expires_at": None, "options": {},
        "links": {"self": f"{call.root}/users/{user.id}"},
    }  # fmt: skip


def project_document(call: Call, project: Project) -> Document:
    """Return a project as answers show one."""
    return {
        "id": project.id, "name": project.name, "description": project.description,
        "domain_id": DOMAIN_ID, "parent_id": DOMAIN_ID, "enabled": project.is_enabled,
        "is_domain": False, "options": {}, "tags": [],
        "links": {"self": f"{call.root}/projects/{project.id}"},
    }  # fmt: skip


def _assignment(call: Call, user: User, project: Project, role: str) -> Document:
    domain = {"id": DOMAIN_ID, "name": DOMAIN_NAME}
    names = "include_names" in call.query
    return {
        "role": {"id": role, **({"name": role} if names else {})},
        "user": {"id": user.id, **({"name": user.name, "domain": domain} if names else {})},
        "scope": {
            "project": {
                "id": project.id,
                **({"name": project.name, "domain": domain} if names else {}),
            }
        },
        "links": {"assignment": f"{call.root}/projects/{project.id}/users/{user.id}/roles/{role}"},
    }


def _matches(item: Mapping[str, Any], query: Mapping[str, Any]) -> bool:
    """Return whether an item has the values of a query; other parameters are ignored."""
    return all(
        str(item[name]).lower() == str(value).lower() if name == "enabled" else item[name] == value
        for parameter, value in query.items()
        if (name := parameter.removesuffix("-any")) in item
    )


def listed(call: Call, plural: str, items: list[Document]) -> Document:
    """Return a list as answers show it."""
    links = {"self": f"{call.root}/{plural}", "next": None, "previous": None}
    return {plural: items, "links": links}
