"""Metadata of images: all users see it, those of the image's project change it."""

from __future__ import annotations

from api.policies.base import ANYBODY, MEMBER, rule

INDEX = "os_compute_api:image-metadata:index"
SHOW = "os_compute_api:image-metadata:show"
CREATE = "os_compute_api:image-metadata:create"
UPDATE_ALL = "os_compute_api:image-metadata:update_all"
UPDATE = "os_compute_api:image-metadata:update"
DELETE = "os_compute_api:image-metadata:delete"

_ALL = "/v2.1/images/{image_id}/metadata"
_ITEM = f"{_ALL}/{{key}}"

RULES = [
    rule(INDEX, ANYBODY, "List the metadata of an image.", [("GET", _ALL)]),
    rule(SHOW, ANYBODY, "Show one item of an image's metadata.", [("GET", _ITEM)]),
    rule(CREATE, MEMBER, "Add metadata to an image.", [("POST", _ALL)]),
    rule(UPDATE_ALL, MEMBER, "Replace the metadata of an image.", [("PUT", _ALL)]),
    rule(UPDATE, MEMBER, "Set one item of an image's metadata.", [("PUT", _ITEM)]),
    rule(DELETE, MEMBER, "Delete one item of an image's metadata.", [("DELETE", _ITEM)]),
]
