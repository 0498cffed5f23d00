"""Policies of the inventories of resource providers."""

from __future__ import annotations

from placement.rest.policies.base import ADMIN_OR_SERVICE, rule

LIST = "placement:resource_providers:inventories:list"
CREATE = "placement:resource_providers:inventories:create"
SHOW = "placement:resource_providers:inventories:show"
UPDATE = "placement:resource_providers:inventories:update"
DELETE = "placement:resource_providers:inventories:delete"

RULES = [
    rule(
        LIST,
        ADMIN_OR_SERVICE,
        "List a resource provider's inventories.",
        [("GET", "/resource_providers/{uuid}/inventories")],
    ),
    rule(
        CREATE,
        ADMIN_OR_SERVICE,
        "Create one inventory of a resource provider.",
        [("POST", "/resource_providers/{uuid}/inventories")],
    ),
    rule(
        SHOW,
        ADMIN_OR_SERVICE,
        "Show one inventory of a resource provider.",
        [("GET", "/resource_providers/{uuid}/inventories/{resource_class}")],
    ),
    rule(
        UPDATE,
        ADMIN_OR_SERVICE,
        "Replace one or all inventories of a resource provider.",
        [
            ("PUT", "/resource_providers/{uuid}/inventories"),
            ("PUT", "/resource_providers/{uuid}/inventories/{resource_class}"),
        ],
    ),
    rule(
        DELETE,
        ADMIN_OR_SERVICE,
        "Delete one or all inventories of a resource provider.",
        [
            ("DELETE", "/resource_providers/{uuid}/inventories"),
            ("DELETE", "/resource_providers/{uuid}/inventories/{resource_class}"),
        ],
    ),
]
