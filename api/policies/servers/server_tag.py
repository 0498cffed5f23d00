"""Tags of servers: who may see and change them."""

from __future__ import annotations

from api.policies.base import MEMBER, READER, rule

INDEX = "os_compute_api:os-server-tags:index"
SHOW = "os_compute_api:os-server-tags:show"
UPDATE_ALL = "os_compute_api:os-server-tags:update_all"
UPDATE = "os_compute_api:os-server-tags:update"
DELETE_ALL = "os_compute_api:os-server-tags:delete_all"
DELETE = "os_compute_api:os-server-tags:delete"

_ALL = "/v2.1/servers/{server_id}/tags"
_ONE = f"{_ALL}/{{tag}}"

RULES = [
    rule(INDEX, READER, "List the tags of a server.", [("GET", _ALL)]),
    rule(SHOW, READER, "Check that a server has a tag.", [("GET", _ONE)]),
    rule(UPDATE_ALL, MEMBER, "Replace the tags of a server.", [("PUT", _ALL)]),
    rule(UPDATE, MEMBER, "Add a tag to a server.", [("PUT", _ONE)]),
    rule(DELETE_ALL, MEMBER, "Remove all tags of a server.", [("DELETE", _ALL)]),
    rule(DELETE, MEMBER, "Remove a tag from a server.", [("DELETE", _ONE)]),
]
