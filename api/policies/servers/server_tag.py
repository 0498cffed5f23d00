"""Tags of servers: who may see and change them."""

from api.policies.base import MEMBER, READER, rule

INDEX = "os_compute_api:os-server-tags:index"
SHOW = "os_compute_api:os-server-tags:show"
UPDATE_ALL = "os_compute_api:os-server-tags:update_all"
UPDATE = "os_compute_api:os-server-tags:update"
DELETE_ALL = "os_compute_api:os-server-tags:delete_all"
DELETE = "os_compute_api:os-server-tags:delete"

RULES = [
    rule(INDEX, READER, "List the tags of a server."),
    rule(SHOW, READER, "Check that a server has a tag."),
    rule(UPDATE_ALL, MEMBER, "Replace the tags of a server."),
    rule(UPDATE, MEMBER, "Add a tag to a server."),
    rule(DELETE_ALL, MEMBER, "Remove all tags of a server."),
    rule(DELETE, MEMBER, "Remove a tag from a server."),
]
