"""Networks and security groups, as early versions pass them on."""

from __future__ import annotations

from api.schemas.base import STRING, STRING_OR_NULL, every, listed

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
