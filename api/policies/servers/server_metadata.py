"""Metadata of servers: who may see and change them."""

from api.policies.base import MEMBER, READER, rule

INDEX = "os_compute_api:server-metadata:index"
SHOW = "os_compute_api:server-metadata:show"
CREATE = "os_compute_api:server-metadata:create"
UPDATE_ALL = "os_compute_api:server-metadata:update_all"
UPDATE = "os_compute_api:server-metadata:update"
DELETE = "os_compute_api:server-metadata:delete"

RULES = [
    rule(INDEX, READER, "List the metadata of a server."),
    rule(SHOW, READER, "Show one item of a server's metadata."),
    rule(CREATE, MEMBER, "Add metadata to a server."),
    rule(UPDATE_ALL, MEMBER, "Replace the metadata of a server."),
    rule(UPDATE, MEMBER, "Set one item of a server's metadata."),
    rule(DELETE, MEMBER, "Delete one item of a server's metadata."),
]
