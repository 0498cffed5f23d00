"""Policies of resource providers."""

from __future__ import annotations

from placement.rest.policies.base import ADMIN_OR_SERVICE, rule

LIST = "placement:resource_providers:list"
CREATE = "placement:resource_providers:create"
SHOW = "placement:resource_providers:show"
UPDATE = "placement:resource_providers:update"
DELETE = "placement:resource_providers:delete"

RULES = [
    rule(LIST, ADMIN_OR_SERVICE, "List resource providers.", [("GET", "/resource_providers")]),
    rule(
        CREATE, ADMIN_OR_SERVICE, "Create a resource provider.", [("POST", "/resource_providers")]
    ),
    rule(
        SHOW, ADMIN_OR_SERVICE, "Show a resource provider.", [("GET", "/resource_providers/{uuid}")]
    ),
    rule(
        UPDATE,
        ADMIN_OR_SERVICE,
        "Rename or move a resource provider.",
        [("PUT", "/resource_providers/{uuid}")],
    ),
    rule(
        DELETE,
        ADMIN_OR_SERVICE,
        "Delete a resource provider.",
        [("DELETE", "/resource_providers/{uuid}")],
    ),
]
