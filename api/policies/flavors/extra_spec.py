"""Extra specs of flavors: all users see them, administrators change them."""

from api.policies.base import ADMIN, ANYBODY, rule

INDEX = "os_compute_api:os-flavor-extra-specs:index"
SHOW = "os_compute_api:os-flavor-extra-specs:show"
CREATE = "os_compute_api:os-flavor-extra-specs:create"
UPDATE = "os_compute_api:os-flavor-extra-specs:update"
DELETE = "os_compute_api:os-flavor-extra-specs:delete"

RULES = [
    rule(INDEX, ANYBODY, "List the extra specs of a flavor."),
    rule(SHOW, ANYBODY, "Show an extra spec of a flavor."),
    rule(CREATE, ADMIN, "Set extra specs of a flavor."),
    rule(UPDATE, ADMIN, "Change an extra spec of a flavor."),
    rule(DELETE, ADMIN, "Delete an extra spec of a flavor."),
]
