"""Policies of resource classes."""

from placement.rest.policies.base import Rule

LIST = "placement:resource_classes:list"
CREATE = "placement:resource_classes:create"
SHOW = "placement:resource_classes:show"
UPDATE = "placement:resource_classes:update"
DELETE = "placement:resource_classes:delete"

RULES = {
    LIST: Rule("List resource classes."),
    CREATE: Rule("Create a resource class."),
    SHOW: Rule("Show a resource class."),
    UPDATE: Rule("Create or rename a resource class."),
    DELETE: Rule("Delete a resource class."),
}
