"""Usage: a project sees its own, administrators that of all."""

from api.policies.base import ADMIN, READER, rule

LIST = "os_compute_api:os-simple-tenant-usage:list"
SHOW = "os_compute_api:os-simple-tenant-usage:show"

RULES = [
    rule(LIST, ADMIN, "List the usage of all projects."),
    rule(SHOW, READER, "Show the usage of a project."),
]
