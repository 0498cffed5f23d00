"""Quotas: a project sees its own, administrators set them."""

from api.policies.base import ADMIN, ANYBODY, READER, rule

SHOW = "os_compute_api:os-quota-sets:show"
DETAIL = "os_compute_api:os-quota-sets:detail"
DEFAULTS = "os_compute_api:os-quota-sets:defaults"
SHOW_CLASS = "os_compute_api:os-quota-class-sets:show"
UPDATE_CLASS = "os_compute_api:os-quota-class-sets:update"
UPDATE = "os_compute_api:os-quota-sets:update"
DELETE = "os_compute_api:os-quota-sets:delete"

RULES = [
    rule(SHOW, READER, "Show a project's quotas."),
    rule(DETAIL, READER, "Show a project's quotas and usage."),
    rule(DEFAULTS, ANYBODY, "Show the default quotas."),
    rule(SHOW_CLASS, ADMIN, "Show the default quotas by class."),
    rule(UPDATE_CLASS, ADMIN, "Set the default quotas."),
    rule(DELETE, ADMIN, "Reset a project's quotas to the defaults."),
    rule(UPDATE, ADMIN, "Set a project's quotas."),
]
