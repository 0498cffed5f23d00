"""Diagnostics of servers: administrators see them, as they tell of hosts."""

from api.policies.base import ADMIN, rule

SHOW = "os_compute_api:os-server-diagnostics"

RULES = [rule(SHOW, ADMIN, "See what the driver measures of a server.")]
