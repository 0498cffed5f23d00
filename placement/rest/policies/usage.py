"""Policies of usages."""

from placement.rest.policies.base import ADMIN_OR_PROJECT_READER_OR_SERVICE, rule

SHOW_PROVIDER = "placement:resource_providers:usages"
SHOW_TOTAL = "placement:usages"

RULES = [
    rule(SHOW_PROVIDER, "Show the usage of a resource provider."),
    rule(
        SHOW_TOTAL,
        "Show the usage of a project, or of a user in it.",
        check=ADMIN_OR_PROJECT_READER_OR_SERVICE,
    ),
]
