"""Aggregates for flavors."""

import pytest

from scheduler.filters.aggregates.aggregate_type_affinity_filter import AggregateTypeAffinityFilter
from tests.builders import a_flavor, an_aggregate
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf, some_cluster_metadata


@pytest.mark.parametrize(
    ("values", "passes"),
    [
        ([], True),
        (["small"], True),
        (["large"], False),
        (["large, small"], True),
        (["large", "small"], True),
        (["smaller"], False),
    ],
    ids=["none", "own", "other", "list", "two aggregates", "longer name"],
)
def test_a_host_for_the_flavor_passes(values: list[str], passes: bool) -> None:
    """By name; a host that is for no flavor in particular is for all."""
    aggregates = [
        an_aggregate(hosts=["host1"], metadata={"instance_type": text}) for text in values
    ]
    state = a_table([a_host()], cluster_metadata=some_cluster_metadata(aggregates))[0]
    spec = a_request_spec(flavor=a_flavor(name="small"))
    assert AggregateTypeAffinityFilter(scheduling_conf()).host_passes(state, spec) is passes
