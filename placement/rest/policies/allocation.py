"""Policies of allocations."""

from placement.rest.policies.base import Rule

MANAGE = "placement:allocations:manage"
LIST = "placement:allocations:list"
UPDATE = "placement:allocations:update"
DELETE = "placement:allocations:delete"
PROVIDER_LIST = "placement:resource_providers:allocations:list"

RULES = {
    MANAGE: Rule("Replace the allocations of several consumers."),
    LIST: Rule("List a consumer's allocations."),
    UPDATE: Rule("Replace a consumer's allocations."),
    DELETE: Rule("Delete a consumer's allocations."),
    PROVIDER_LIST: Rule("List the allocations on a resource provider."),
}
