"""Zones: administrators see the tree below, and have it tell of itself anew."""

from __future__ import annotations

from api.policies.base import ADMIN, rule

LIST = "os_compute_api:armillary:zones:list"
SHOW = "os_compute_api:armillary:zones:show"
REFRESH = "os_compute_api:armillary:zones:refresh"

_ALL = "/v2.1/armillary/zones"

RULES = [
    rule(LIST, ADMIN, "List the zones right below this one.", [("GET", _ALL)]),
    rule(SHOW, ADMIN, "Show what a zone can do.", [("GET", f"{_ALL}/{{zone_name}}")]),
    rule(REFRESH, ADMIN, "Have zones push their summaries now.", [("POST", _ALL)]),
]
