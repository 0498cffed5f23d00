"""Policies of resource providers."""

from placement.rest.policies.base import Rule

LIST = "placement:resource_providers:list"
CREATE = "placement:resource_providers:create"
SHOW = "placement:resource_providers:show"
UPDATE = "placement:resource_providers:update"
DELETE = "placement:resource_providers:delete"

RULES = {
    LIST: Rule("List resource providers."),
    CREATE: Rule("Create a resource provider."),
    SHOW: Rule("Show a resource provider."),
    UPDATE: Rule("Rename or move a resource provider."),
    DELETE: Rule("Delete a resource provider."),
}
