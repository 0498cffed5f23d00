"""Events: administrators follow what happens, to everybody's servers and to hosts."""

from __future__ import annotations

from api.policies.base import ADMIN, rule

FOLLOW = "os_compute_api:armillary:events"

RULES = [
    rule(FOLLOW, ADMIN, "Follow what happens, live.", [("GET", "/v2.1/armillary/events")]),
]
