"""Less than a number, which aggregates may override."""

import logging

import pytest

from scheduler.filters.aggregates.aggregate_io_ops_filter import AggregateIoOpsFilter
from scheduler.filters.aggregates.aggregate_num_instances_filter import AggregateNumInstancesFilter
from scheduler.filters.amounts.io_ops_filter import IoOpsFilter
from scheduler.filters.amounts.limits import BelowLimit
from tests.builders import an_aggregate
from tests.fleets import (
    Host,
    a_host,
    a_request_spec,
    a_table,
    scheduling_conf,
    some_cluster_metadata,
)


@pytest.mark.parametrize(("works", "passes"), [(0, True), (7, True), (8, False), (9, False)])
def test_a_host_below_the_limit_of_disk_heavy_works_passes(works: int, passes: bool) -> None:
    """At the limit it has enough to do."""
    state = a_table([a_host(num_io_ops=works)])[0]
    assert IoOpsFilter(scheduling_conf()).host_passes(state, a_request_spec()) is passes


AGGREGATE_LIMITS = pytest.mark.parametrize(
    ("each", "attribute"),
    [(AggregateIoOpsFilter, "num_io_ops"), (AggregateNumInstancesFilter, "num_instances")],
    ids=["io ops", "instances"],
)


@AGGREGATE_LIMITS
@pytest.mark.parametrize(
    ("values", "limit"),
    [([], 5), (["3"], 3), (["7"], 7), (["7", "3"], 3), (["many"], 5), (["2.5"], 5), (["3,9"], 5)],
    ids=["none", "less", "more", "least", "word", "fraction", "list"],
)
def test_the_least_of_the_aggregates_limits_counts(
    each: type[BelowLimit], attribute: str, values: list[str], limit: int
) -> None:
    """Without one, or with one that is not a whole number, the option does."""
    conf = scheduling_conf(**{f"filter_scheduler__{each.option}": 5})
    aggregates = [an_aggregate(hosts=["host1"], metadata={each.option: text}) for text in values]
    chosen = each(conf)
    for has, passes in ((limit - 1, True), (limit, False)):
        table = a_table(
            [Host(values={attribute: has})], cluster_metadata=some_cluster_metadata(aggregates)
        )
        assert chosen.host_passes(table[0], a_request_spec()) is passes
        assert chosen.host_mask(table, a_request_spec()).tolist() == [passes]


@AGGREGATE_LIMITS
def test_other_hosts_aggregates_do_not_count(each: type[BelowLimit], attribute: str) -> None:
    """Only those that the host is in."""
    cluster_metadata = some_cluster_metadata(
        [an_aggregate(hosts=["host2"], metadata={each.option: "0"})]
    )
    state = a_table([Host(values={attribute: 1})], cluster_metadata=cluster_metadata)[0]
    assert each(scheduling_conf()).host_passes(state, a_request_spec())


def test_a_limit_that_is_not_a_number_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """With the aggregate's name."""
    aggregate = an_aggregate(name="slow", hosts=["host1"], metadata={"max_io_ops_per_host": "few"})
    table = a_table([a_host()], cluster_metadata=some_cluster_metadata([aggregate]))
    each = AggregateIoOpsFilter(scheduling_conf())
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            each.host_mask(table, a_request_spec())
    assert [record.getMessage() for record in caplog.records] == [
        "Aggregate slow: metadata max_io_ops_per_host = 'few' is not a usable number; hosts use "
        "the configured value"
    ]


def test_the_reason_has_both_numbers() -> None:
    """What is, and what is allowed here."""
    aggregate = an_aggregate(hosts=["host1"], metadata={"max_io_ops_per_host": "2"})
    state = a_table([a_host(num_io_ops=3)], cluster_metadata=some_cluster_metadata([aggregate]))[0]
    reason = AggregateIoOpsFilter(scheduling_conf()).explain(state, a_request_spec())
    assert reason == "its number of disk-heavy operations is 3, the limit is 2"
