"""Aggregates give their hosts words, and numbers in place of options."""

import logging
from collections.abc import Sequence

import pytest

from objects.aggregate import Aggregate
from scheduler.hosts import aggregate_metadata
from scheduler.hosts.aggregate_metadata import NumberOverride
from tests.builders import an_aggregate
from tests.fleets import a_host, a_table, some_cluster_metadata

KEY = "ram_weight_multiplier"


def numbers(*values_by_aggregate: str, override: NumberOverride | None = None) -> float:
    aggregates = [
        an_aggregate(f"a{index}", hosts=["host1"], metadata={KEY: value})
        for index, value in enumerate(values_by_aggregate)
    ]
    table = a_table([a_host(), a_host("host2")], cluster_metadata=some_cluster_metadata(aggregates))
    in_aggregates, outside = (override or NumberOverride(KEY)).column(table, 7.0)
    assert outside == 7.0
    return float(in_aggregates)


@pytest.mark.parametrize(
    ("values", "number"),
    [
        ((), 7.0),
        (("2.0",), 2.0),
        (("2.0", "0.5"), 0.5),
        (("abc",), 7.0),
        (("8,16",), 7.0),
        (("1", "abc"), 7.0),
        (("nan",), 7.0),
        (("inf",), 7.0),
        (("1e308",), 7.0),
        (("-1e100",), 7.0),
        (("-1e99",), -1e99),
        (("9",), 9.0),
    ],
    ids=str,
)
def test_of_several_numbers_the_least_counts(values: tuple[str, ...], number: float) -> None:
    """Anything among them that is not a number brings the option back."""
    assert numbers(*values) == number


def test_a_value_that_is_not_a_number_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """With the aggregate and the value, not once a request."""
    override = NumberOverride(KEY)
    aggregate = an_aggregate("ssd", hosts=["host1"], metadata={KEY: "fast"})
    table = a_table([a_host()], cluster_metadata=some_cluster_metadata([aggregate]))
    with caplog.at_level(logging.WARNING):
        override.column(table, 1.0)
        override.column(table, 1.0)
    assert [record.getMessage() for record in caplog.records] == [
        "Aggregate ssd: metadata ram_weight_multiplier = 'fast' is not a usable number; hosts use "
        "the configured value"
    ]


def test_words_are_split_at_commas() -> None:
    """Over all aggregates that have the key."""
    aggregates = [
        an_aggregate(metadata={"zone": "a, b"}),
        an_aggregate(metadata={"zone": "c"}),
        an_aggregate(metadata={"other": "d"}),
    ]
    assert aggregate_metadata.words(aggregates, "zone") == {"a", "b", "c"}


def test_a_question_about_memberships_is_asked_once_for_each_kind_of_host() -> None:
    """However many aggregates there are; those that do not matter are not shown."""
    names = [f"host{number}" for number in range(1, 201)]
    aggregates = [
        an_aggregate(f"a{number}", hosts=names[number::70], metadata={KEY: str(number)})
        for number in range(70)
    ]
    other = an_aggregate("other", hosts=names)
    table = a_table(
        [a_host(name) for name in names],
        cluster_metadata=some_cluster_metadata([*aggregates, other]),
    )
    asked = []

    def is_even(found: Sequence[Aggregate]) -> bool:
        asked.append([each.name for each in found])
        return int(found[0].metadata[KEY]) % 2 == 0

    mask = aggregate_metadata.per_membership(table, aggregates, is_even)
    assert mask.tolist() == [number % 70 % 2 == 0 for number in range(200)]
    assert sorted(asked) == sorted([each.name] for each in aggregates)
