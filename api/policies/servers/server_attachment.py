"""Attachments of servers: who may list them."""

from __future__ import annotations

from api.policies.base import MEMBER, READER, rule

ADDRESSES = "os_compute_api:ips:index"
NETWORK = "os_compute_api:ips:show"
INTERFACES = "os_compute_api:os-attach-interfaces:list"
SECURITY_GROUPS = "os_compute_api:os-security-groups:list"
PASSWORD = "os_compute_api:os-server-password:show"  # noqa: S105 - names of rules
CLEAR_PASSWORD = "os_compute_api:os-server-password:clear"  # noqa: S105
VOLUMES = "os_compute_api:os-volumes-attachments:index"

_SERVER = "/v2.1/servers/{server_id}"

RULES = [
    rule(
        PASSWORD,
        READER,
        "Show the encrypted password of a server.",
        [("GET", f"{_SERVER}/os-server-password")],
    ),
    rule(
        CLEAR_PASSWORD,
        MEMBER,
        "Forget the encrypted password of a server.",
        [("DELETE", f"{_SERVER}/os-server-password")],
    ),
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
