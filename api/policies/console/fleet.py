"""The fleet: administrators see all hosts in one view, single hosts, and the work of services."""

from api.policies.base import ADMIN, rule

LIST = "os_compute_api:armillary:fleet:list"
SHOW_HOST = "os_compute_api:armillary:fleet:show_host"
HOST_EVENTS = "os_compute_api:armillary:fleet:host_events"
NOW = "os_compute_api:armillary:now"

RULES = [
    rule(LIST, ADMIN, "See all hosts with their use."),
    rule(SHOW_HOST, ADMIN, "See a host with its providers, devices, servers and migrations."),
    rule(
        HOST_EVENTS,
        ADMIN,
        "See what happened on a host: changes of its service, and steps of operations there.",
    ),
    rule(NOW, ADMIN, "See what the services are doing now."),
]
