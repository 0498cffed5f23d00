"""Soft policies: members on a host count for it, or against it."""

import pytest

from scheduler.weights.server_group import GroupMembersWeigher
from scheduler.weights.server_group_soft_affinity_weigher import ServerGroupSoftAffinityWeigher
from scheduler.weights.server_group_soft_anti_affinity_weigher import (
    ServerGroupSoftAntiAffinityWeigher,
)
from tests.builders import a_uuid
from tests.fleets import a_group, a_host, a_request_spec, a_table, scheduling_conf

MEMBERS = [a_uuid() for _ in range(3)]
TOGETHER, APART = ServerGroupSoftAffinityWeigher, ServerGroupSoftAntiAffinityWeigher


@pytest.mark.parametrize(
    ("each", "policy", "expected"),
    [
        (TOGETHER, "soft-affinity", [2.0, 1.0, 0.0]),
        (APART, "soft-anti-affinity", [-2.0, -1.0, 0.0]),
        (TOGETHER, "soft-anti-affinity", [0.0, 0.0, 0.0]),
        (APART, "soft-affinity", [0.0, 0.0, 0.0]),
        (TOGETHER, "affinity", [0.0, 0.0, 0.0]),
    ],
    ids=["together", "apart", "together for apart", "apart for together", "hard"],
)
def test_members_on_a_host_are_counted(
    each: type[GroupMembersWeigher], policy: str, expected: list[float]
) -> None:
    """Only for the weigher's own policy; a host of the group has one at least."""
    group = a_group(policy, members=MEMBERS, hosts=["host1", "host2"])
    table = a_table(
        [
            a_host("host1", instance_uuids=[*MEMBERS[:2], a_uuid()]),
            a_host("host2"),
            a_host("host3", instance_uuids=[a_uuid()]),
        ]
    )
    weigher = each(scheduling_conf())
    assert weigher.host_weights(table, a_request_spec(instance_group=group)).tolist() == expected


@pytest.mark.parametrize("each", [TOGETHER, APART], ids=["together", "apart"])
def test_without_a_group_all_hosts_are_equal(each: type[GroupMembersWeigher]) -> None:
    table = a_table([a_host(instance_uuids=MEMBERS)])
    assert each(scheduling_conf()).host_weights(table, a_request_spec()).tolist() == [0.0]
