"""Policies of the aggregates of resource providers."""

from placement.rest.policies.base import rule

LIST = "placement:resource_providers:aggregates:list"
UPDATE = "placement:resource_providers:aggregates:update"

RULES = [
    rule(LIST, "List the aggregates of a resource provider."),
    rule(UPDATE, "Set the aggregates of a resource provider."),
]
