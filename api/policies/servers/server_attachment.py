"""Attachments of servers: who may list them."""

from __future__ import annotations

from api.policies.base import READER, rule

ADDRESSES = "os_compute_api:ips:index"
NETWORK = "os_compute_api:ips:show"
INTERFACES = "os_compute_api:os-attach-interfaces:list"
SECURITY_GROUPS = "os_compute_api:os-security-groups:list"
VOLUMES = "os_compute_api:os-volumes-attachments:index"

_SERVER = "/v2.1/servers/{server_id}"

RULES = [
    rule(ADDRESSES, READER, "List the addresses of a server.", [("GET", f"{_SERVER}/ips")]),
    rule(
        NETWORK,
        READER,
        "Show the addresses of a server in one network.",
        [("GET", f"{_SERVER}/ips/{{network}}")],
    ),
    rule(INTERFACES, READER, "List the ports of a server.", [("GET", f"{_SERVER}/os-interface")]),
    rule(
        SECURITY_GROUPS,
        READER,
        "List the security groups of a server.",
        [("GET", f"{_SERVER}/os-security-groups")],
    ),
    rule(
        VOLUMES,
        READER,
        "List the volumes of a server.",
        [("GET", f"{_SERVER}/os-volume_attachments")],
    ),
]
