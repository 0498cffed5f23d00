"""Health: administrators see which services are up."""

from api.policies.base import ADMIN, rule

SHOW = "os_compute_api:armillary:health"

RULES = [rule(SHOW, ADMIN, "Show which services and cells are up.")]
