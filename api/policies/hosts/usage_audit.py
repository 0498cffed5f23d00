"""Audits of usage: administrators see them."""

from api.policies.base import ADMIN, rule

LIST = "os_compute_api:os-instance-usage-audit-log:list"
SHOW = "os_compute_api:os-instance-usage-audit-log:show"

RULES = [
    rule(LIST, ADMIN, "Show the last audit of usage."),
    rule(SHOW, ADMIN, "Show the audit before a time."),
]
