"""Policies of allocations."""

from placement.rest.policies.base import rule

MANAGE = "placement:allocations:manage"
LIST = "placement:allocations:list"
UPDATE = "placement:allocations:update"
DELETE = "placement:allocations:delete"
PROVIDER_LIST = "placement:resource_providers:allocations:list"

RULES = [
    rule(MANAGE, "Replace the allocations of several consumers.", "POST /allocations"),
    rule(LIST, "List a consumer's allocations.", "GET /allocations/{consumer_uuid}"),
    rule(UPDATE, "Replace a consumer's allocations.", "PUT /allocations/{consumer_uuid}"),
    rule(DELETE, "Delete a consumer's allocations.", "DELETE /allocations/{consumer_uuid}"),
    rule(
        PROVIDER_LIST,
        "List the allocations on a resource provider.",
        "GET /resource_providers/{uuid}/allocations",
    ),
]
