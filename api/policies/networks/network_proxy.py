"""Network proxies: who may look up networks, groups and floating IPs, and ask for more."""

from api.policies.base import MEMBER, READER, rule

NETWORKS = "os_compute_api:os-networks:list"
NETWORK = "os_compute_api:os-networks:show"
TENANT_NETWORKS = "os_compute_api:os-tenant-networks:list"
TENANT_NETWORK = "os_compute_api:os-tenant-networks:show"
SECURITY_GROUPS = "os_compute_api:os-security-groups:get"
SECURITY_GROUP = "os_compute_api:os-security-groups:show"
CREATE_GROUP = "os_compute_api:os-security-groups:create"
UPDATE_GROUP = "os_compute_api:os-security-groups:update"
DELETE_GROUP = "os_compute_api:os-security-groups:delete"
CREATE_RULE = "os_compute_api:os-security-groups:rule:create"
DELETE_RULE = "os_compute_api:os-security-groups:rule:delete"
FLOATING_IPS = "os_compute_api:os-floating-ips:list"
FLOATING_IP = "os_compute_api:os-floating-ips:show"
CREATE_FLOATING_IP = "os_compute_api:os-floating-ips:create"
DELETE_FLOATING_IP = "os_compute_api:os-floating-ips:delete"
FLOATING_IP_POOLS = "os_compute_api:os-floating-ip-pools"
ADD_FLOATING_IP = "os_compute_api:os-floating-ips:add"
REMOVE_FLOATING_IP = "os_compute_api:os-floating-ips:remove"
ADD_FIXED_IP = "os_compute_api:os-multinic:add"
REMOVE_FIXED_IP = "os_compute_api:os-multinic:remove"

RULES = [
    rule(NETWORKS, READER, "List networks."),
    rule(NETWORK, READER, "Show a network."),
    rule(TENANT_NETWORKS, READER, "List a project's networks."),
    rule(TENANT_NETWORK, READER, "Show a network of a project."),
    rule(SECURITY_GROUPS, READER, "List the project's security groups."),
    rule(SECURITY_GROUP, READER, "Show a security group."),
    rule(CREATE_GROUP, MEMBER, "Create a security group."),
    rule(UPDATE_GROUP, MEMBER, "Change a security group."),
    rule(DELETE_GROUP, MEMBER, "Delete a security group."),
    rule(CREATE_RULE, MEMBER, "Create a rule of a security group."),
    rule(DELETE_RULE, MEMBER, "Delete a rule of a security group."),
    rule(FLOATING_IPS, READER, "List floating IPs."),
    rule(FLOATING_IP, READER, "Show a floating IP."),
    rule(CREATE_FLOATING_IP, MEMBER, "Allocate a floating IP."),
    rule(DELETE_FLOATING_IP, MEMBER, "Release a floating IP."),
    rule(FLOATING_IP_POOLS, READER, "List pools of floating IPs."),
    rule(ADD_FLOATING_IP, MEMBER, "Give a server a floating IP."),
    rule(REMOVE_FLOATING_IP, MEMBER, "Take a floating IP from a server."),
    rule(ADD_FIXED_IP, MEMBER, "Give a server another address."),
    rule(REMOVE_FIXED_IP, MEMBER, "Take an address from a server."),
]
