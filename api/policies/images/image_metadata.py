"""Metadata of images: all users see it, those of the image's project change it."""

from api.policies.base import ANYBODY, MEMBER, rule

INDEX = "os_compute_api:image-metadata:index"
SHOW = "os_compute_api:image-metadata:show"
CREATE = "os_compute_api:image-metadata:create"
UPDATE_ALL = "os_compute_api:image-metadata:update_all"
UPDATE = "os_compute_api:image-metadata:update"
DELETE = "os_compute_api:image-metadata:delete"

RULES = [
    rule(INDEX, ANYBODY, "List the metadata of an image."),
    rule(SHOW, ANYBODY, "Show one item of an image's metadata."),
    rule(CREATE, MEMBER, "Add metadata to an image."),
    rule(UPDATE_ALL, MEMBER, "Replace the metadata of an image."),
    rule(UPDATE, MEMBER, "Set one item of an image's metadata."),
    rule(DELETE, MEMBER, "Delete one item of an image's metadata."),
]
