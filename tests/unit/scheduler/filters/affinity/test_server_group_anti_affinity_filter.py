"""Members of a group with the policy anti-affinity stay apart."""

from typing import Any

import pytest

from scheduler.filters.affinity.server_group_anti_affinity_filter import (
    ServerGroupAntiAffinityFilter,
)
from tests.builders import a_uuid
from tests.fleets import a_group, a_host, a_request_spec, a_table, scheduling_conf

SELF = a_uuid()


def passes(instances: list[str], *, policy: str = "anti-affinity", **group: Any) -> bool:
    each = ServerGroupAntiAffinityFilter(scheduling_conf())
    hosts = a_table([a_host("host1", instance_uuids=instances)])
    spec = a_request_spec(
        instance_uuid=SELF, instance_group=a_group(policy, members=["a", "b", SELF], **group)
    )
    passed = each.host_passes(hosts[0], spec)
    assert each.host_mask(hosts, spec).tolist() == [passed]
    return passed


@pytest.mark.parametrize(
    ("instances", "limit", "passed"),
    [
        ([], 1, True),
        (["stranger"], 1, True),
        (["a"], 1, False),
        (["a", "stranger"], 2, True),
        (["a", "b"], 2, False),
        (["a", "b", SELF], 2, True),
    ],
)
def test_a_host_passes_below_the_number_of_members_it_may_run(
    instances: list[str], limit: int, passed: bool
) -> None:
    """The instance's own host passes, too."""
    assert passes(instances, rules={"max_server_per_host": str(limit)}) is passed


def test_one_member_a_host_is_the_rule_without_a_rule() -> None:
    """As the name of the policy says."""
    assert not passes(["a"])


@pytest.mark.parametrize(("limit", "passed"), [(1, False), (2, True)])
def test_a_host_of_the_group_that_reported_no_member_yet_counts_as_one(
    limit: int, passed: bool
) -> None:
    """The super conductor knows of it before the host's next report."""
    assert passes([], hosts=["host1"], rules={"max_server_per_host": str(limit)}) is passed


def test_other_policies_do_not_matter() -> None:
    """Nor does no group at all."""
    each = ServerGroupAntiAffinityFilter(scheduling_conf())
    assert passes(["a"], policy="affinity")
    assert each.host_passes(a_table([a_host()])[0], a_request_spec())
