"""Policies of usages."""

from placement.rest.policies.base import ADMIN_OR_PROJECT_READER_OR_SERVICE, Rule

SHOW_PROVIDER = "placement:resource_providers:usages"
SHOW_TOTAL = "placement:usages"

RULES = {
    SHOW_PROVIDER: Rule("Show the usage of a resource provider."),
    SHOW_TOTAL: Rule(
        "Show the usage of a project, or of a user in it.", check=ADMIN_OR_PROJECT_READER_OR_SERVICE
    ),
}
