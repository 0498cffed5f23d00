"""Attachments of a server by other services."""

from __future__ import annotations

from api.schemas.base import (
    BOOLEAN,
    NUMBER,
    OBJECT,
    STRING,
    STRING_OR_NULL,
    every,
    listed,
    name,
    since,
    until,
)
from api.schemas.servers import network_proxy

NETWORK_ANSWER = {
    "type": "object",
    "additionalProperties": listed(every({"version": NUMBER, "addr": STRING})),
}
ADDRESSES_ANSWER = every({"addresses": NETWORK_ANSWER})
_PORT = every(
    {
        "port_id": STRING,
        "net_id": STRING,
        "mac_addr": STRING,
        "port_state": STRING,
        "fixed_ips": listed(every({"ip_address": STRING, "subnet_id": STRING})),
        "tag": since(2, 70, STRING_OR_NULL),
    }
)
INTERFACES_ANSWER = every({"interfaceAttachments": listed(_PORT)})
INTERFACE_ANSWER = every({"interfaceAttachment": _PORT})
OTHERS = OBJECT
"""Bodies about what other services make."""
PASSWORD_ANSWER = every({"password": STRING})
ADD_SECURITY_GROUP = every({"addSecurityGroup": every({"name": name()})})
REMOVE_SECURITY_GROUP = every({"removeSecurityGroup": every({"name": name()})})
SECURITY_GROUPS_ANSWER = network_proxy.SECURITY_GROUPS_ANSWER
_ATTACHMENT = every(
    {
        "id": until(2, 88, STRING),
        "volumeId": STRING,
        "serverId": STRING,
        "device": STRING_OR_NULL,
        "tag": since(2, 70, STRING_OR_NULL),
        "delete_on_termination": since(2, 79, BOOLEAN),
        "attachment_id": since(2, 89, STRING_OR_NULL),
        "bdm_uuid": since(2, 89, STRING),
    }
)
VOLUMES_ANSWER = every({"volumeAttachments": listed(_ATTACHMENT)})
