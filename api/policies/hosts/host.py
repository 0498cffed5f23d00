"""Hosts: administrators see and disable them."""

from api.policies.base import ADMIN, rule

LIST = "os_compute_api:os-hosts:list"
SHOW = "os_compute_api:os-hosts:show"
UPDATE = "os_compute_api:os-hosts:update"
CHANGE_POWER = "os_compute_api:os-hosts:reboot"

RULES = [
    rule(LIST, ADMIN, "List services by host."),
    rule(UPDATE, ADMIN, "Enable or disable a host."),
    rule(
        CHANGE_POWER,
        ADMIN,
        "Ask for the start, shutdown or reboot of a host, which no driver supports.",
    ),
    rule(SHOW, ADMIN, "Show the resources of a host."),
]
