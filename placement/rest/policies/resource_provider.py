"""Policies of resource providers."""

from placement.rest.policies.base import rule

LIST = "placement:resource_providers:list"
CREATE = "placement:resource_providers:create"
SHOW = "placement:resource_providers:show"
UPDATE = "placement:resource_providers:update"
DELETE = "placement:resource_providers:delete"

RULES = [
    rule(LIST, "List resource providers.", "GET /resource_providers"),
    rule(CREATE, "Create a resource provider.", "POST /resource_providers"),
    rule(SHOW, "Show a resource provider.", "GET /resource_providers/{uuid}"),
    rule(UPDATE, "Rename or move a resource provider.", "PUT /resource_providers/{uuid}"),
    rule(DELETE, "Delete a resource provider.", "DELETE /resource_providers/{uuid}"),
]
