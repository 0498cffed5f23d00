"""Policies of the inventories of resource providers."""

from placement.rest.policies.base import Rule

LIST = "placement:resource_providers:inventories:list"
CREATE = "placement:resource_providers:inventories:create"
SHOW = "placement:resource_providers:inventories:show"
UPDATE = "placement:resource_providers:inventories:update"
DELETE = "placement:resource_providers:inventories:delete"

RULES = {
    LIST: Rule("List a resource provider's inventories."),
    CREATE: Rule("Create one inventory of a resource provider."),
    SHOW: Rule("Show one inventory of a resource provider."),
    UPDATE: Rule("Replace one or all inventories of a resource provider."),
    DELETE: Rule("Delete one or all inventories of a resource provider."),
}
