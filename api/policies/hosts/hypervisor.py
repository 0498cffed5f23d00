"""Hypervisors: administrators see resources and usage of hosts."""

from api.policies.base import ADMIN, rule

LIST = "os_compute_api:os-hypervisors:list"
DETAIL = "os_compute_api:os-hypervisors:list-detail"
SEARCH = "os_compute_api:os-hypervisors:search"
SERVERS = "os_compute_api:os-hypervisors:servers"
STATISTICS = "os_compute_api:os-hypervisors:statistics"
UPTIME = "os_compute_api:os-hypervisors:uptime"
SHOW = "os_compute_api:os-hypervisors:show"

RULES = [
    rule(LIST, ADMIN, "List hypervisors."),
    rule(DETAIL, ADMIN, "List hypervisors with details."),
    rule(SHOW, ADMIN, "Show a hypervisor and its servers."),
    rule(SEARCH, ADMIN, "Search hypervisors by name."),
    rule(SERVERS, ADMIN, "List the servers of hypervisors."),
    rule(UPTIME, ADMIN, "Show the uptime of a hypervisor."),
    rule(STATISTICS, ADMIN, "Show the sums of all hypervisors."),
]
