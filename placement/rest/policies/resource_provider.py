"""Policies of resource providers."""

from placement.rest.policies.base import rule

LIST = "placement:resource_providers:list"
CREATE = "placement:resource_providers:create"
SHOW = "placement:resource_providers:show"
UPDATE = "placement:resource_providers:update"
DELETE = "placement:resource_providers:delete"

RULES = [
    rule(LIST, "List resource providers."),
    rule(CREATE, "Create a resource provider."),
    rule(SHOW, "Show a resource provider."),
    rule(UPDATE, "Rename or move a resource provider."),
    rule(DELETE, "Delete a resource provider."),
]
