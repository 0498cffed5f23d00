"""Hypervisors: administrators see resources and usage of hosts."""

from __future__ import annotations

from api.policies.base import ADMIN, rule

LIST = "os_compute_api:os-hypervisors:list"
DETAIL = "os_compute_api:os-hypervisors:list-detail"
SHOW = "os_compute_api:os-hypervisors:show"

RULES = [
    rule(LIST, ADMIN, "List hypervisors.", [("GET", "/v2.1/os-hypervisors")]),
    rule(DETAIL, ADMIN, "List hypervisors with details.", [("GET", "/v2.1/os-hypervisors/detail")]),
    rule(
        SHOW,
        ADMIN,
        "Show a hypervisor and its servers.",
        [("GET", "/v2.1/os-hypervisors/{hypervisor_id}")],
    ),
]
