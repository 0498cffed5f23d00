"""A host takes instances up to a number."""

import pytest

from scheduler.filters.amounts.num_instances_filter import NumInstancesFilter
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf


@pytest.mark.parametrize(("instances", "passes"), [(0, True), (1, True), (2, False), (3, False)])
def test_a_host_below_the_limit_passes(instances: int, passes: bool) -> None:
    """At the limit it is full."""
    each = NumInstancesFilter(scheduling_conf(filter_scheduler__max_instances_per_host=2))
    table = a_table([a_host(num_instances=instances)])
    assert each.host_passes(table[0], a_request_spec()) is passes
    assert each.host_mask(table, a_request_spec()).tolist() == [passes]


def test_the_reason_has_both_numbers() -> None:
    """What is, and what is allowed."""
    each = NumInstancesFilter(scheduling_conf())
    state = a_table([a_host(num_instances=60)])[0]
    assert each.explain(state, a_request_spec()) == "its number of instances is 60, the limit is 50"
