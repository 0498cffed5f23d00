"""Flavors: users see those that they may use, administrators manage them."""

from __future__ import annotations

from api.policies.base import ADMIN, ANYBODY, rule

SHOW = "os_compute_api:flavors"
CREATE = "os_compute_api:os-flavor-manage:create"
UPDATE = "os_compute_api:os-flavor-manage:update"
DELETE = "os_compute_api:os-flavor-manage:delete"
LIST_ACCESS = "os_compute_api:os-flavor-access"
ADD_ACCESS = "os_compute_api:os-flavor-access:add_tenant_access"
REMOVE_ACCESS = "os_compute_api:os-flavor-access:remove_tenant_access"

_ACTION = [("POST", "/v2.1/flavors/{flavor_id}/action")]

RULES = [
    rule(
        SHOW,
        ANYBODY,
        "List and show flavors.",
        [
            ("GET", "/v2.1/flavors"),
            ("GET", "/v2.1/flavors/detail"),
            ("GET", "/v2.1/flavors/{flavor_id}"),
        ],
    ),
    rule(CREATE, ADMIN, "Create a flavor.", [("POST", "/v2.1/flavors")]),
    rule(UPDATE, ADMIN, "Describe a flavor.", [("PUT", "/v2.1/flavors/{flavor_id}")]),
    rule(
        LIST_ACCESS,
        ADMIN,
        "List the projects that may use a private flavor.",
        [("GET", "/v2.1/flavors/{flavor_id}/os-flavor-access")],
    ),
    rule(ADD_ACCESS, ADMIN, "Let a project use a private flavor.", _ACTION),
    rule(REMOVE_ACCESS, ADMIN, "Take a private flavor from a project.", _ACTION),
    rule(DELETE, ADMIN, "Delete a flavor.", [("DELETE", "/v2.1/flavors/{flavor_id}")]),
]
