"""Hosts: administrators see them."""

from __future__ import annotations

from api.policies.base import ADMIN, rule

LIST = "os_compute_api:os-hosts:list"
SHOW = "os_compute_api:os-hosts:show"

RULES = [
    rule(LIST, ADMIN, "List services by host.", [("GET", "/v2.1/os-hosts")]),
    rule(SHOW, ADMIN, "Show the resources of a host.", [("GET", "/v2.1/os-hosts/{host}")]),
]
