"""Metadata of servers: who may see and change them."""

from __future__ import annotations

from api.policies.base import MEMBER, READER, rule

INDEX = "os_compute_api:server-metadata:index"
SHOW = "os_compute_api:server-metadata:show"
CREATE = "os_compute_api:server-metadata:create"
UPDATE_ALL = "os_compute_api:server-metadata:update_all"
UPDATE = "os_compute_api:server-metadata:update"
DELETE = "os_compute_api:server-metadata:delete"

_ALL = "/v2.1/servers/{server_id}/metadata"
_ITEM = f"{_ALL}/{{key}}"

RULES = [
    rule(INDEX, READER, "List the metadata of a server.", [("GET", _ALL)]),
    rule(SHOW, READER, "Show one item of a server's metadata.", [("GET", _ITEM)]),
    rule(CREATE, MEMBER, "Add metadata to a server.", [("POST", _ALL)]),
    rule(UPDATE_ALL, MEMBER, "Replace the metadata of a server.", [("PUT", _ALL)]),
    rule(UPDATE, MEMBER, "Set one item of a server's metadata.", [("PUT", _ITEM)]),
    rule(DELETE, MEMBER, "Delete one item of a server's metadata.", [("DELETE", _ITEM)]),
]
