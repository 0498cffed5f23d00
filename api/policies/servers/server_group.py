"""Server groups of a project: affinity and anti-affinity between servers."""

from api.policies.base import ADMIN, MEMBER, READER, rule

INDEX = "os_compute_api:os-server-groups:index"
INDEX_ALL_PROJECTS = "os_compute_api:os-server-groups:index:all_projects"
CREATE = "os_compute_api:os-server-groups:create"
SHOW = "os_compute_api:os-server-groups:show"
DELETE = "os_compute_api:os-server-groups:delete"

_ALL = "/v2.1/os-server-groups"

RULES = [
    rule(INDEX, READER, "List the server groups of a project."),
    rule(INDEX_ALL_PROJECTS, ADMIN, "List the server groups of all projects.", [("GET", _ALL)]),
    rule(CREATE, MEMBER, "Create a server group."),
    rule(SHOW, READER, "Show a server group."),
    rule(DELETE, MEMBER, "Delete a server group."),
]
