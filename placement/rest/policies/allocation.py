"""Policies of allocations."""

from placement.rest.policies.base import rule

MANAGE = "placement:allocations:manage"
LIST = "placement:allocations:list"
UPDATE = "placement:allocations:update"
DELETE = "placement:allocations:delete"
PROVIDER_LIST = "placement:resource_providers:allocations:list"

RULES = [
    rule(MANAGE, "Replace the allocations of several consumers."),
    rule(LIST, "List a consumer's allocations."),
    rule(UPDATE, "Replace a consumer's allocations."),
    rule(DELETE, "Delete a consumer's allocations."),
    rule(PROVIDER_LIST, "List the allocations on a resource provider."),
]
