"""Availability zones: all users see their names, administrators their hosts."""

from api.policies.base import ADMIN, ANYBODY, rule

LIST = "os_compute_api:os-availability-zone:list"
DETAIL = "os_compute_api:os-availability-zone:detail"

RULES = [
    rule(LIST, ANYBODY, "List availability zones."),
    rule(DETAIL, ADMIN, "List availability zones with their hosts."),
]
