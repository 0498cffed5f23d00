"""Members of a group with the policy affinity stay together."""

import pytest

from objects.instances.instance_group import InstanceGroup
from scheduler.filters.affinity.server_group_affinity_filter import ServerGroupAffinityFilter
from tests.fleets import a_group, a_host, a_request_spec, a_table, scheduling_conf


@pytest.mark.parametrize(
    ("group", "passes"),
    [
        (None, True),
        (a_group("affinity"), True),
        (a_group("affinity", hosts=["host1", "host2"]), True),
        (a_group("affinity", hosts=["host2"]), False),
        (a_group("anti-affinity", hosts=["host2"]), True),
        (a_group("soft-affinity", hosts=["host2"]), True),
    ],
    ids=["no group", "empty", "among", "elsewhere", "other policy", "soft"],
)
def test_a_host_passes_among_the_groups_hosts(group: InstanceGroup | None, passes: bool) -> None:
    """The first member may go anywhere."""
    each = ServerGroupAffinityFilter(scheduling_conf())
    state = a_table([a_host("host1")])[0]
    spec = a_request_spec(instance_group=group)
    assert each.host_passes(state, spec) is passes
    assert each.explain(state, spec) == "the server group's members are on another host"
