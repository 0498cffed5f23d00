"""Networks and security groups: who may look them up."""

from __future__ import annotations

from api.policies.base import READER, rule

NETWORKS = "os_compute_api:os-networks:list"
NETWORK = "os_compute_api:os-networks:show"
SECURITY_GROUPS = "os_compute_api:os-security-groups:get"
SECURITY_GROUP = "os_compute_api:os-security-groups:show"

_NETWORKS, _GROUPS = "/v2.1/os-networks", "/v2.1/os-security-groups"

RULES = [
    rule(NETWORKS, READER, "List networks.", [("GET", _NETWORKS)]),
    rule(NETWORK, READER, "Show a network.", [("GET", f"{_NETWORKS}/{{network_id}}")]),
    rule(SECURITY_GROUPS, READER, "List the project's security groups.", [("GET", _GROUPS)]),
    rule(SECURITY_GROUP, READER, "Show a security group.", [("GET", f"{_GROUPS}/{{group_id}}")]),
]
