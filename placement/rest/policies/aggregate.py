"""Policies of the aggregates of resource providers."""

from placement.rest.policies.base import Rule

LIST = "placement:resource_providers:aggregates:list"
UPDATE = "placement:resource_providers:aggregates:update"

RULES = {
    LIST: Rule("List the aggregates of a resource provider."),
    UPDATE: Rule("Set the aggregates of a resource provider."),
}
