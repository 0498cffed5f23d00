"""Aggregates' metadata against extra specs."""

import pytest

from scheduler.filters.aggregates.aggregate_instance_extra_specs_filter import (
    AggregateInstanceExtraSpecsFilter,
)
from tests.builders import an_aggregate
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf, some_cluster_metadata

SCOPED = "aggregate_instance_extra_specs:"


@pytest.mark.parametrize(
    ("demands", "metadata", "passes"),
    [
        ({}, {}, True),
        ({"ssd": "true"}, {"ssd": "true"}, True),
        ({"ssd": "true"}, {}, False),
        ({"ssd": "true"}, {"ssd": "false"}, False),
        ({f"{SCOPED}ssd": "true"}, {"ssd": "true"}, True),
        ({f"{SCOPED}a:b": "1"}, {"a:b": "1"}, True),
        ({"capabilities:ssd": "true"}, {}, True),
        ({f"{SCOPED}speed": ">= 5"}, {"speed": "3, 7"}, True),
        ({f"{SCOPED}speed": ">= 5"}, {"speed": "3, fast"}, False),
        ({f"{SCOPED}ssd": "true", f"{SCOPED}speed": "7"}, {"ssd": "true"}, False),
    ],
)
def test_a_host_whose_aggregates_meet_all_demands_passes(
    demands: dict[str, str], metadata: dict[str, str], passes: bool
) -> None:
    """One value of each must do; without a scope a key counts, with another one it does not."""
    cluster_metadata = some_cluster_metadata([an_aggregate(hosts=["host1"], metadata=metadata)])
    state = a_table([a_host()], cluster_metadata=cluster_metadata)[0]
    each = AggregateInstanceExtraSpecsFilter(scheduling_conf())
    assert each.host_passes(state, a_request_spec(demands)) is passes


def test_the_reason_says_what_the_aggregates_have() -> None:
    """All values, or that there is none."""
    cluster_metadata = some_cluster_metadata(
        [an_aggregate(hosts=["host1"], metadata={"speed": "3, 4"})]
    )
    table = a_table([a_host(), a_host("host2")], cluster_metadata=cluster_metadata)
    each = AggregateInstanceExtraSpecsFilter(scheduling_conf())
    spec = a_request_spec({f"{SCOPED}speed": "5"})
    assert each.explain(table[0], spec) == "its aggregates' speed is 3, 4"
    assert each.explain(table[1], spec) == "its aggregates' speed is not set"
