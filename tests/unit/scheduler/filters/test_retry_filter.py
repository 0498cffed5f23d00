"""Not to a node that was tried."""

import pytest

from objects.request_spec import SchedulerRetries
from scheduler.filters.retry_filter import RetryFilter
from tests.fleets import Host, a_request_spec, a_table, scheduling_conf

NODES = [("host1", "a"), ("host1", "b"), ("host2", "a")]


@pytest.mark.parametrize(
    ("tried", "passing"),
    [
        (None, NODES),
        ([], NODES),
        ([["host3", "a"], ["b", "host1"]], NODES),
        ([["host1", "a"]], NODES[1:]),
        ([["host1", "b"], ["host2", "a"]], NODES[:1]),
        ([["host1", "a"], ["host1", "b"]], NODES[2:]),
    ],
    ids=["no retry", "none", "others", "one node", "one of each host", "all of a host"],
)
def test_a_node_that_was_not_tried_passes(
    tried: list[list[str]] | None, passing: list[tuple[str, str]]
) -> None:
    """Whatever other nodes of its host were tried, and nodes of that name elsewhere."""
    retry = None if tried is None else SchedulerRetries.from_values(num_attempts=1, hosts=tried)
    table = a_table([Host(name=host, node=node) for host, node in NODES])
    rule, spec = RetryFilter(scheduling_conf()), a_request_spec(retry=retry)
    assert [
        NODES[each] for each, state in enumerate(table) if rule.host_passes(state, spec)
    ] == passing
    assert [NODES[each] for each in rule.host_mask(table, spec).nonzero()[0]] == passing
