"""Policies of resource classes."""

from placement.rest.policies.base import rule

LIST = "placement:resource_classes:list"
CREATE = "placement:resource_classes:create"
SHOW = "placement:resource_classes:show"
UPDATE = "placement:resource_classes:update"
DELETE = "placement:resource_classes:delete"

RULES = [
    rule(LIST, "List resource classes."),
    rule(CREATE, "Create a resource class."),
    rule(SHOW, "Show a resource class."),
    rule(UPDATE, "Create or rename a resource class."),
    rule(DELETE, "Delete a resource class."),
]
