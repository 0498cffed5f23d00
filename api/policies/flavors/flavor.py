"""Flavors: all users see them, administrators create and delete them."""

from __future__ import annotations

from api.policies.base import ADMIN, ANYBODY, rule

SHOW = "os_compute_api:flavors"
CREATE = "os_compute_api:os-flavor-manage:create"
DELETE = "os_compute_api:os-flavor-manage:delete"

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
    rule(DELETE, ADMIN, "Delete a flavor.", [("DELETE", "/v2.1/flavors/{flavor_id}")]),
]
