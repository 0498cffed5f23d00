"""Volumes of servers: who may list, attach and detach them."""

from api.policies.base import ADMIN, MEMBER, READER, rule

INDEX = "os_compute_api:os-volumes-attachments:index"
SHOW = "os_compute_api:os-volumes-attachments:show"
CREATE = "os_compute_api:os-volumes-attachments:create"
SWAP = "os_compute_api:os-volumes-attachments:swap"
DELETE = "os_compute_api:os-volumes-attachments:delete"

RULES = [
    rule(INDEX, READER, "List the volumes of a server."),
    rule(SHOW, READER, "Show a volume of a server."),
    rule(CREATE, MEMBER, "Attach a volume to a server."),
    rule(SWAP, ADMIN, "Replace a volume of a server by another one."),
    rule(DELETE, MEMBER, "Detach a volume from a server."),
]
