"""Hypervisors: administrators see resources and usage of hosts."""

from __future__ import annotations

from api.policies.base import ADMIN, rule

LIST = "os_compute_api:os-hypervisors:list"
DETAIL = "os_compute_api:os-hypervisors:list-detail"
SEARCH = "os_compute_api:os-hypervisors:search"
SERVERS = "os_compute_api:os-hypervisors:servers"
STATISTICS = "os_compute_api:os-hypervisors:statistics"
UPTIME = "os_compute_api:os-hypervisors:uptime"
SHOW = "os_compute_api:os-hypervisors:show"

_ONE = "/v2.1/os-hypervisors/{hypervisor_id}"

RULES = [
    rule(LIST, ADMIN, "List hypervisors.", [("GET", "/v2.1/os-hypervisors")]),
    rule(DETAIL, ADMIN, "List hypervisors with details.", [("GET", "/v2.1/os-hypervisors/detail")]),
    rule(SHOW, ADMIN, "Show a hypervisor and its servers.", [("GET", _ONE)]),
    rule(SEARCH, ADMIN, "Search hypervisors by name.", [("GET", f"{_ONE}/search")]),
    rule(SERVERS, ADMIN, "List the servers of hypervisors.", [("GET", f"{_ONE}/servers")]),
    rule(UPTIME, ADMIN, "Show the uptime of a hypervisor.", [("GET", f"{_ONE}/uptime")]),
    rule(
        STATISTICS,
        ADMIN,
        "Show the sums of all hypervisors.",
        [("GET", "/v2.1/os-hypervisors/statistics")],
    ),
]
