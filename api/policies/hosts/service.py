"""Services: administrators see their state, and disable or force down hosts."""

from api.policies.base import ADMIN, rule

LIST = "os_compute_api:os-services:list"
UPDATE = "os_compute_api:os-services:update"
DELETE = "os_compute_api:os-services:delete"

RULES = [
    rule(LIST, ADMIN, "List services."),
    rule(UPDATE, ADMIN, "Enable, disable or force down a service."),
    rule(DELETE, ADMIN, "Delete a service with its host."),
]
