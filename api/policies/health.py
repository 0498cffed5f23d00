"""Health: administrators see which parts are alive."""

from __future__ import annotations

from api.policies.base import ADMIN, rule

SHOW = "os_compute_api:armillary:health"

RULES = [
    rule(
        SHOW, ADMIN, "Show which services and cells are alive.", [("GET", "/v2.1/armillary/health")]
    )
]
