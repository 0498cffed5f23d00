"""Services: administrators see their state, and disable or force down hosts."""

from __future__ import annotations

from api.policies.base import ADMIN, rule

LIST = "os_compute_api:os-services:list"
UPDATE = "os_compute_api:os-services:update"
DELETE = "os_compute_api:os-services:delete"

_ONE = "/v2.1/os-services/{service_id}"

RULES = [
    rule(LIST, ADMIN, "List services.", [("GET", "/v2.1/os-services")]),
    rule(
        UPDATE,
        ADMIN,
        "Enable, disable or force down a service.",
        [
            ("PUT", _ONE),
            ("PUT", "/v2.1/os-services/enable"),
            ("PUT", "/v2.1/os-services/disable"),
            ("PUT", "/v2.1/os-services/disable-log-reason"),
            ("PUT", "/v2.1/os-services/force-down"),
        ],
    ),
    rule(DELETE, ADMIN, "Delete a service with its host.", [("DELETE", _ONE)]),
]
