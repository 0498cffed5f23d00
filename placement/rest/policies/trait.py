"""Policies of traits, and those of resource providers."""

from placement.rest.policies.base import Rule

LIST = "placement:traits:list"
SHOW = "placement:traits:show"
UPDATE = "placement:traits:update"
DELETE = "placement:traits:delete"
PROVIDER_LIST = "placement:resource_providers:traits:list"
PROVIDER_UPDATE = "placement:resource_providers:traits:update"
PROVIDER_DELETE = "placement:resource_providers:traits:delete"

RULES = {
    LIST: Rule("List traits."),
    SHOW: Rule("Show whether a trait exists."),
    UPDATE: Rule("Create a trait."),
    DELETE: Rule("Delete a trait."),
    PROVIDER_LIST: Rule("List a resource provider's traits."),
    PROVIDER_UPDATE: Rule("Replace a resource provider's traits."),
    PROVIDER_DELETE: Rule("Remove all traits of a resource provider."),
}
