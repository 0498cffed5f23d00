"""Zones: administrators see the zones below, and refresh their summaries."""

from __future__ import annotations

from api.policies.base import ADMIN, rule

LIST = "os_compute_api:armillary:zones:list"
SHOW = "os_compute_api:armillary:zones:show"
REFRESH = "os_compute_api:armillary:zones:refresh"

_ALL = "/v2.1/armillary/zones"

RULES = [
    rule(LIST, ADMIN, "List the direct child zones.", [("GET", _ALL)]),
    rule(SHOW, ADMIN, "Show the capabilities of a zone.", [("GET", f"{_ALL}/{{zone_name}}")]),
    rule(REFRESH, ADMIN, "Make zones push their summaries now.", [("POST", _ALL)]),
]
