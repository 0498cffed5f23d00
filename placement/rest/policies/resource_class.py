"""Policies of resource classes."""

from placement.rest.policies.base import rule

LIST = "placement:resource_classes:list"
CREATE = "placement:resource_classes:create"
SHOW = "placement:resource_classes:show"
UPDATE = "placement:resource_classes:update"
DELETE = "placement:resource_classes:delete"

RULES = [
    rule(LIST, "List resource classes.", "GET /resource_classes"),
    rule(CREATE, "Create a resource class.", "POST /resource_classes"),
    rule(SHOW, "Show a resource class.", "GET /resource_classes/{name}"),
    rule(UPDATE, "Create or rename a resource class.", "PUT /resource_classes/{name}"),
    rule(DELETE, "Delete a resource class.", "DELETE /resource_classes/{name}"),
]
