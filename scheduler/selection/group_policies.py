"""Check that the plugin required by a server group's policy is enabled."""

from __future__ import annotations

from collections.abc import Collection

from armillary import exception
from objects.request_spec import RequestSpec

NEEDED_BY_POLICY = {
    "affinity": "ServerGroupAffinityFilter",
    "anti-affinity": "ServerGroupAntiAffinityFilter",
    "soft-affinity": "ServerGroupSoftAffinityWeigher",
    "soft-anti-affinity": "ServerGroupSoftAntiAffinityWeigher",
}


def check(spec: RequestSpec, plugin_names: Collection[str]) -> None:
    """Raise ``UnsupportedPolicy`` if the plugin required by the request's policy is missing."""
    if spec.instance_group is None:
        return
    policy = spec.instance_group.policy
    needed = NEEDED_BY_POLICY.get(policy)
    if needed is None:
        raise exception.UnsupportedPolicy(policy=policy, reason="unknown policy")
    if needed not in plugin_names:
        raise exception.UnsupportedPolicy(
            policy=policy, reason=f"{needed} is not enabled in the scheduler"
        )
