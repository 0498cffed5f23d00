"""Attachments of servers by a network service."""

from api.schemas.base import NUMBER, OBJECT, STRING, STRING_OR_NULL, every, listed, name, since
from api.schemas.networks import network_proxy

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
