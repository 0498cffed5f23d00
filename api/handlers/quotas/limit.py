"""Limits: quotas of a project and their usage."""

from api.call import Call
from api.policies.quotas import limit as policies
from api.schemas.quotas import limit as schemas
from armillary.http.call import Answer
from armillary.http.dispatch import Action, Routes

LIMIT_NAMES = {
    "instances": "maxTotalInstances",
    "cores": "maxTotalCores",
    "ram": "maxTotalRAMSize",
    "server_groups": "maxServerGroups",
    "server_group_members": "maxServerGroupMembers",
    "metadata_items": "maxServerMeta",
    "key_pairs": "maxTotalKeypairs",
    "injected_files": "maxPersonality",
    "injected_file_content_bytes": "maxPersonalitySize",
    "security_groups": "maxSecurityGroups",
    "security_group_rules": "maxSecurityGroupRules",
    "floating_ips": "maxTotalFloatingIps",
}
USAGE_NAMES = {
    "instances": "totalInstancesUsed",
    "cores": "totalCoresUsed",
    "ram": "totalRAMUsed",
    "server_groups": "totalServerGroupsUsed",
}

IMAGE_METADATA_MAX = 128
_FIXED = {
    "maxImageMeta": IMAGE_METADATA_MAX,
    "totalFloatingIpsUsed": 0,
    "totalSecurityGroupsUsed": 0,
}


def show(call: Call) -> Answer:
    """Show limits and usage of the caller's project, or of another."""
    project_id = call.query.get("tenant_id", call.context.project_id)
    if project_id != call.context.project_id:
        call.authorize(policies.OTHER_PROJECT)
    quotas = call.conductor.get_quotas(call.context, project_id)
    limits = {LIMIT_NAMES[name]: quotas[name]["limit"] for name in LIMIT_NAMES if name in quotas}
    usage = {USAGE_NAMES[name]: quotas[name]["in_use"] for name in USAGE_NAMES if name in quotas}
    return Answer({"limits": {"rate": [], "absolute": {**_FIXED, **limits, **usage}}})


ROUTES: Routes[Call] = {
    "/v2.1/limits": {
        "GET": Action(show, policies.SHOW, schemas.SHOW_ANSWER, query=schemas.SHOW_QUERY)
    }
}
