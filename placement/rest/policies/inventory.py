"""Policies of the inventories of resource providers."""

from placement.rest.policies.base import rule

LIST = "placement:resource_providers:inventories:list"
CREATE = "placement:resource_providers:inventories:create"
SHOW = "placement:resource_providers:inventories:show"
UPDATE = "placement:resource_providers:inventories:update"
DELETE = "placement:resource_providers:inventories:delete"

RULES = [
    rule(
        LIST,
        "List a resource provider's inventories.",
        "GET /resource_providers/{uuid}/inventories",
    ),
    rule(
        CREATE,
        "Create one inventory of a resource provider.",
        "POST /resource_providers/{uuid}/inventories",
    ),
    rule(
        SHOW,
        "Show one inventory of a resource provider.",
        "GET /resource_providers/{uuid}/inventories/{resource_class}",
    ),
    rule(
        UPDATE,
        "Replace one or all inventories of a resource provider.",
        "PUT /resource_providers/{uuid}/inventories",
        "PUT /resource_providers/{uuid}/inventories/{resource_class}",
    ),
    rule(
        DELETE,
        "Delete one or all inventories of a resource provider.",
        "DELETE /resource_providers/{uuid}/inventories",
        "DELETE /resource_providers/{uuid}/inventories/{resource_class}",
    ),
]
