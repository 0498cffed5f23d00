"""Network proxies: networks, security groups and floating IPs, as early versions pass them on."""

from api.schemas.base import OBJECT, STRING, STRING_OR_NULL, every, fields, listed, name

_NONE = {"type": "array", "maxItems": 0}
GROUP = every(
    {
        "id": STRING,
        "name": STRING,
        "description": STRING,
        "tenant_id": STRING_OR_NULL,
        "rules": _NONE,
    }
)
NETWORKS_ANSWER = every({"networks": _NONE})
NETWORK_ANSWER = every({"network": every({"id": STRING, "label": STRING})})
SECURITY_GROUPS_ANSWER = every({"security_groups": listed(GROUP)})
SECURITY_GROUP_ANSWER = every({"security_group": GROUP})
CREATE_GROUP = every({"security_group": OBJECT})
CREATE_RULE = every(
    {
        "security_group_rule": {
            **OBJECT,
            "properties": {"parent_group_id": STRING},
            "required": ["parent_group_id"],
        }
    }
)
RULE_ANSWER = every({"security_group_rule": every({"id": STRING})})
FLOATING_IPS_ANSWER = every({"floating_ips": _NONE})
FLOATING_IP_ANSWER = every({"floating_ip": every({"id": STRING, "ip": STRING})})
FLOATING_IP_POOLS_ANSWER = every({"floating_ip_pools": _NONE})
CREATE_FLOATING_IP = fields({"pool": STRING_OR_NULL})
_ADDRESS = name()


def floating_ip_action(action: str) -> dict[str, object]:
    """Return the body of an action about a floating IP."""
    return every(
        {action: fields({"address": _ADDRESS, "fixed_address": _ADDRESS}, required=["address"])}
    )


ADD_FIXED_IP = every({"addFixedIp": every({"networkId": name()})})
REMOVE_FIXED_IP = every({"removeFixedIp": every({"address": _ADDRESS})})
