"""Dry runs: administrators ask where servers would be placed."""

from api.policies.base import ADMIN, rule

CREATE = "os_compute_api:armillary:dry-run"

RULES = [rule(CREATE, ADMIN, "Show where servers would be placed, and why.")]
