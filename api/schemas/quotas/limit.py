"""Limits: a project's quotas and usage in one flat object."""

from api.schemas.base import ANY, NUMBER, every, fields, listed, name, text, until

SHOW_QUERY = fields({"tenant_id": name(), "reserved": text()})

_ABSOLUTE = every(
    {
        **dict.fromkeys(
            (
                "maxServerMeta",
                "maxTotalKeypairs",
                "maxTotalInstances",
                "maxTotalCores",
                "maxTotalRAMSize",
                "maxServerGroups",
                "maxServerGroupMembers",
                "totalInstancesUsed",
                "totalCoresUsed",
                "totalRAMUsed",
                "totalServerGroupsUsed",
            ),
            NUMBER,
        ),
        **dict.fromkeys(
            (
                "maxSecurityGroups",
                "maxSecurityGroupRules",
                "maxTotalFloatingIps",
                "totalFloatingIpsUsed",
                "totalSecurityGroupsUsed",
            ),
            until(2, 35, NUMBER),
        ),
        "maxImageMeta": until(2, 38, NUMBER),
        "maxPersonality": until(2, 56, NUMBER),
        "maxPersonalitySize": until(2, 56, NUMBER),
    }
)

SHOW_ANSWER = every({"limits": every({"rate": listed(ANY), "absolute": _ABSOLUTE})})
