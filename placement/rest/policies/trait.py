"""Policies of traits, and those of resource providers."""

from placement.rest.policies.base import rule

LIST = "placement:traits:list"
SHOW = "placement:traits:show"
UPDATE = "placement:traits:update"
DELETE = "placement:traits:delete"
PROVIDER_LIST = "placement:resource_providers:traits:list"
PROVIDER_UPDATE = "placement:resource_providers:traits:update"
PROVIDER_DELETE = "placement:resource_providers:traits:delete"

RULES = [
    rule(LIST, "List traits."),
    rule(SHOW, "Show whether a trait exists."),
    rule(UPDATE, "Create a trait."),
    rule(DELETE, "Delete a trait."),
    rule(PROVIDER_LIST, "List a resource provider's traits."),
    rule(PROVIDER_UPDATE, "Replace a resource provider's traits."),
    rule(PROVIDER_DELETE, "Remove all traits of a resource provider."),
]
