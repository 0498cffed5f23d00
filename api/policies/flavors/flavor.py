"""Flavors: users see those that they may use, administrators manage them."""

from api.policies.base import ADMIN, ANYBODY, rule

SHOW = "os_compute_api:flavors"
CREATE = "os_compute_api:os-flavor-manage:create"
UPDATE = "os_compute_api:os-flavor-manage:update"
DELETE = "os_compute_api:os-flavor-manage:delete"
LIST_ACCESS = "os_compute_api:os-flavor-access"
ADD_ACCESS = "os_compute_api:os-flavor-access:add_tenant_access"
REMOVE_ACCESS = "os_compute_api:os-flavor-access:remove_tenant_access"

RULES = [
    rule(SHOW, ANYBODY, "List and show flavors."),
    rule(CREATE, ADMIN, "Create a flavor."),
    rule(UPDATE, ADMIN, "Describe a flavor."),
    rule(LIST_ACCESS, ADMIN, "List the projects that may use a private flavor."),
    rule(ADD_ACCESS, ADMIN, "Let a project use a private flavor."),
    rule(REMOVE_ACCESS, ADMIN, "Take a private flavor from a project."),
    rule(DELETE, ADMIN, "Delete a flavor."),
]
