"""Audits of usage: administrators see them."""

from __future__ import annotations

from api.policies.base import ADMIN, rule

LIST = "os_compute_api:os-instance-usage-audit-log:list"
SHOW = "os_compute_api:os-instance-usage-audit-log:show"

_ALL = "/v2.1/os-instance_usage_audit_log"

RULES = [
    rule(LIST, ADMIN, "Show the last audit of usage.", [("GET", _ALL)]),
    rule(SHOW, ADMIN, "Show the audit before a time.", [("GET", f"{_ALL}/{{before}}")]),
]
