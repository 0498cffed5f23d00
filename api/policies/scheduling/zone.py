"""Zones: administrators see and change the zones below, and refresh their summaries."""

from __future__ import annotations

from api.policies.base import ADMIN, rule

LIST = "os_compute_api:armillary:zones:list"
SHOW = "os_compute_api:armillary:zones:show"
CREATE = "os_compute_api:armillary:zones:create"
UPDATE = "os_compute_api:armillary:zones:update"
DELETE = "os_compute_api:armillary:zones:delete"
REFRESH = "os_compute_api:armillary:zones:refresh"

_ALL = "/v2.1/armillary/zones"

RULES = [
    rule(LIST, ADMIN, "List the direct child zones.", [("GET", _ALL)]),
    rule(SHOW, ADMIN, "Show the capabilities of a zone.", [("GET", f"{_ALL}/{{zone_name}}")]),
    rule(CREATE, ADMIN, "Put a zone below this one, with its account.", [("POST", _ALL)]),
    rule(UPDATE, ADMIN, "Change a child zone.", [("PUT", f"{_ALL}/{{zone_name}}")]),
    rule(DELETE, ADMIN, "Remove a child zone.", [("DELETE", f"{_ALL}/{{zone_name}}")]),
    rule(REFRESH, ADMIN, "Make zones push their summaries now.", [("POST", _ALL)]),
]
