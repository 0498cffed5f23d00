"""Attachments of servers: who may list them."""

from api.policies.base import MEMBER, READER, rule

ADDRESSES = "os_compute_api:ips:index"
NETWORK = "os_compute_api:ips:show"
INTERFACES = "os_compute_api:os-attach-interfaces:list"
INTERFACE = "os_compute_api:os-attach-interfaces:show"
ATTACH_INTERFACE = "os_compute_api:os-attach-interfaces:create"
DETACH_INTERFACE = "os_compute_api:os-attach-interfaces:delete"
SECURITY_GROUPS = "os_compute_api:os-security-groups:list"
PASSWORD = "os_compute_api:os-server-password:show"  # noqa: S105 - names of rules
CLEAR_PASSWORD = "os_compute_api:os-server-password:clear"  # noqa: S105
ADD_SECURITY_GROUP = "os_compute_api:os-security-groups:add"
REMOVE_SECURITY_GROUP = "os_compute_api:os-security-groups:remove"

RULES = [
    rule(PASSWORD, READER, "Show the encrypted password of a server."),
    rule(CLEAR_PASSWORD, MEMBER, "Forget the encrypted password of a server."),
    rule(ADDRESSES, READER, "List the addresses of a server."),
    rule(NETWORK, READER, "Show the addresses of a server in one network."),
    rule(INTERFACES, READER, "List the ports of a server."),
    rule(INTERFACE, READER, "Show a port of a server."),
    rule(ATTACH_INTERFACE, MEMBER, "Attach an interface to a server."),
    rule(DETACH_INTERFACE, MEMBER, "Detach an interface from a server."),
    rule(ADD_SECURITY_GROUP, MEMBER, "Add a security group to a server."),
    rule(REMOVE_SECURITY_GROUP, MEMBER, "Remove a security group from a server."),
    rule(SECURITY_GROUPS, READER, "List the security groups of a server."),
]
