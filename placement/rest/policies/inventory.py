"""Policies of the inventories of resource providers."""

from placement.rest.policies.base import rule

LIST = "placement:resource_providers:inventories:list"
CREATE = "placement:resource_providers:inventories:create"
SHOW = "placement:resource_providers:inventories:show"
UPDATE = "placement:resource_providers:inventories:update"
DELETE = "placement:resource_providers:inventories:delete"

RULES = [
    rule(LIST, "List a resource provider's inventories."),
    rule(CREATE, "Create one inventory of a resource provider."),
    rule(SHOW, "Show one inventory of a resource provider."),
    rule(UPDATE, "Replace one or all inventories of a resource provider."),
    rule(DELETE, "Delete one or all inventories of a resource provider."),
]
