"""Volumes of servers: who may list, attach and detach them."""

from __future__ import annotations

from api.policies.base import ADMIN, MEMBER, READER, rule

INDEX = "os_compute_api:os-volumes-attachments:index"
SHOW = "os_compute_api:os-volumes-attachments:show"
CREATE = "os_compute_api:os-volumes-attachments:create"
SWAP = "os_compute_api:os-volumes-attachments:swap"
DELETE = "os_compute_api:os-volumes-attachments:delete"

_ALL = "/v2.1/servers/{server_id}/os-volume_attachments"
_ONE = f"{_ALL}/{{volume_id}}"

RULES = [
    rule(INDEX, READER, "List the volumes of a server.", [("GET", _ALL)]),
    rule(SHOW, READER, "Show a volume of a server.", [("GET", _ONE)]),
    rule(CREATE, MEMBER, "Attach a volume to a server.", [("POST", _ALL)]),
    rule(SWAP, ADMIN, "Replace a volume of a server by another one.", [("PUT", _ONE)]),
    rule(DELETE, MEMBER, "Detach a volume from a server.", [("DELETE", _ONE)]),
]
