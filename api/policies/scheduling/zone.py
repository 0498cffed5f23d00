"""Zones: administrators see and change the zones below, and refresh their summaries."""

from api.policies.base import ADMIN, rule

LIST = "os_compute_api:armillary:zones:list"
SHOW = "os_compute_api:armillary:zones:show"
CREATE = "os_compute_api:armillary:zones:create"
UPDATE = "os_compute_api:armillary:zones:update"
DELETE = "os_compute_api:armillary:zones:delete"
REFRESH = "os_compute_api:armillary:zones:refresh"

RULES = [
    rule(LIST, ADMIN, "List the direct child zones."),
    rule(SHOW, ADMIN, "Show the capabilities of a zone."),
    rule(CREATE, ADMIN, "Put a zone below this one, with its account."),
    rule(UPDATE, ADMIN, "Change a child zone."),
    rule(DELETE, ADMIN, "Remove a child zone."),
    rule(REFRESH, ADMIN, "Make zones push their summaries now."),
]
