"""Network proxies: who may look up networks, groups and floating IPs, and ask for more."""

from __future__ import annotations

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

_NETWORKS, _GROUPS = "/v2.1/os-networks", "/v2.1/os-security-groups"
_TENANT_NETWORKS = "/v2.1/os-tenant-networks"
_RULES, _FLOATING_IPS = "/v2.1/os-security-group-rules", "/v2.1/os-floating-ips"
_ACTION = [("POST", "/v2.1/servers/{server_id}/action")]

RULES = [
    rule(NETWORKS, READER, "List networks.", [("GET", _NETWORKS)]),
    rule(NETWORK, READER, "Show a network.", [("GET", f"{_NETWORKS}/{{network_id}}")]),
    rule(TENANT_NETWORKS, READER, "List a project's networks.", [("GET", _TENANT_NETWORKS)]),
    rule(
        TENANT_NETWORK,
        READER,
        "Show a network of a project.",
        [("GET", f"{_TENANT_NETWORKS}/{{network_id}}")],
    ),
    rule(SECURITY_GROUPS, READER, "List the project's security groups.", [("GET", _GROUPS)]),
    rule(SECURITY_GROUP, READER, "Show a security group.", [("GET", f"{_GROUPS}/{{group_id}}")]),
    rule(CREATE_GROUP, MEMBER, "Create a security group.", [("POST", _GROUPS)]),
    rule(UPDATE_GROUP, MEMBER, "Change a security group.", [("PUT", f"{_GROUPS}/{{group_id}}")]),
    rule(DELETE_GROUP, MEMBER, "Delete a security group.", [("DELETE", f"{_GROUPS}/{{group_id}}")]),
    rule(CREATE_RULE, MEMBER, "Create a rule of a security group.", [("POST", _RULES)]),
    rule(
        DELETE_RULE,
        MEMBER,
        "Delete a rule of a security group.",
        [("DELETE", f"{_RULES}/{{rule_id}}")],
    ),
    rule(FLOATING_IPS, READER, "List floating IPs.", [("GET", _FLOATING_IPS)]),
    rule(FLOATING_IP, READER, "Show a floating IP.", [("GET", f"{_FLOATING_IPS}/{{address_id}}")]),
    rule(CREATE_FLOATING_IP, MEMBER, "Allocate a floating IP.", [("POST", _FLOATING_IPS)]),
    rule(
        DELETE_FLOATING_IP,
        MEMBER,
        "Release a floating IP.",
        [("DELETE", f"{_FLOATING_IPS}/{{address_id}}")],
    ),
    rule(
        FLOATING_IP_POOLS,
        READER,
        "List pools of floating IPs.",
        [("GET", "/v2.1/os-floating-ip-pools")],
    ),
    rule(ADD_FLOATING_IP, MEMBER, "Give a server a floating IP.", _ACTION),
    rule(REMOVE_FLOATING_IP, MEMBER, "Take a floating IP from a server.", _ACTION),
    rule(ADD_FIXED_IP, MEMBER, "Give a server another address.", _ACTION),
    rule(REMOVE_FIXED_IP, MEMBER, "Take an address from a server.", _ACTION),
]
