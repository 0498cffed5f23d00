"""Policies of traits, and those of resource providers."""

from __future__ import annotations

from placement.rest.policies.base import ADMIN_OR_SERVICE, rule

LIST = "placement:traits:list"
SHOW = "placement:traits:show"
UPDATE = "placement:traits:update"
DELETE = "placement:traits:delete"
PROVIDER_LIST = "placement:resource_providers:traits:list"
PROVIDER_UPDATE = "placement:resource_providers:traits:update"
PROVIDER_DELETE = "placement:resource_providers:traits:delete"

RULES = [
    rule(LIST, ADMIN_OR_SERVICE, "List traits.", [("GET", "/traits")]),
    rule(SHOW, ADMIN_OR_SERVICE, "Show whether a trait exists.", [("GET", "/traits/{name}")]),
    rule(UPDATE, ADMIN_OR_SERVICE, "Create a trait.", [("PUT", "/traits/{name}")]),
    rule(DELETE, ADMIN_OR_SERVICE, "Delete a trait.", [("DELETE", "/traits/{name}")]),
    rule(
        PROVIDER_LIST,
        ADMIN_OR_SERVICE,
        "List a resource provider's traits.",
        [("GET", "/resource_providers/{uuid}/traits")],
    ),
    rule(
        PROVIDER_UPDATE,
        ADMIN_OR_SERVICE,
        "Replace a resource provider's traits.",
        [("PUT", "/resource_providers/{uuid}/traits")],
    ),
    rule(
        PROVIDER_DELETE,
        ADMIN_OR_SERVICE,
        "Remove all traits of a resource provider.",
        [("DELETE", "/resource_providers/{uuid}/traits")],
    ),
]
