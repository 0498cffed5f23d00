"""Metrics times their ratios; what happens where one is missing."""

from typing import Any

import numpy as np
import pytest

from scheduler.plugins.loading import CannotDecide
from scheduler.weights.metrics_weigher import MetricsWeigher
from scheduler.weights.ranking import Ranking
from tests.builders import an_aggregate
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf, some_cluster_metadata

BUSY = [{"name": "cpu.percent", "value": 0.5}, {"name": "cpu.frequency", "value": 2000}]
IDLE = [{"name": "cpu.percent", "value": 0.1}]


def a_weigher(*setting: str, **options: Any) -> MetricsWeigher:
    values = {f"metrics__{name}": value for name, value in options.items()}
    return MetricsWeigher(scheduling_conf(metrics__weight_setting=[*setting], **values))


def weight(weigher: MetricsWeigher, metrics: Any, cluster_metadata: Any = None) -> float:
    return weigher.host_weight(
        a_table([a_host(metrics=metrics)], cluster_metadata=cluster_metadata)[0], a_request_spec()
    )


def test_metrics_are_added_up_with_their_ratios() -> None:
    """50 percent times -2, and 2000 MHz times 0.1."""
    assert weight(a_weigher("cpu.percent=-2", "cpu.frequency=0.1"), BUSY) == 100.0


def test_without_a_setting_nothing_is_weighed() -> None:
    """No host can differ."""
    assert not a_weigher().applies_to(a_request_spec())
    assert not a_weigher("nonsense").applies_to(a_request_spec())
    assert a_weigher("cpu.percent=1").applies_to(a_request_spec())


def test_a_missing_metric_that_is_required_is_an_explained_refusal(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Users see the metric, the options, and what to do; the operator's log has the host."""
    with pytest.raises(CannotDecide) as caught:
        weight(a_weigher("cpu.percent=1", "cpu.frequency=1"), IDLE)
    assert str(caught.value) == (
        "MetricsWeigher cannot decide: a host does not report cpu.frequency, which [metrics] "
        "weight_setting names and [metrics] required demands; enable MetricsFilter to exclude such "
        "hosts"
    )
    assert "host1 does not report cpu.frequency" in caplog.text


def test_the_refusal_comes_through_the_ranking_as_it_is() -> None:
    """It is not a defect of the weigher."""
    hosts = a_table([a_host(metrics=BUSY), a_host("host2", metrics=[])])
    with pytest.raises(CannotDecide, match="a host does not report"):
        Ranking([a_weigher("cpu.percent=1")], hosts, a_request_spec(), np.ones(2, dtype=np.bool_))


@pytest.mark.parametrize(
    ("setting", "multiplier", "expected"),
    [
        (["cpu.percent=1", "cpu.frequency=1"], 1.0, -7.0),
        (["cpu.percent=1", "cpu.frequency=0"], 1.0, 10.0),
        (["cpu.percent=1", "cpu.frequency=1"], 0.0, 10.0),
    ],
    ids=["counts", "ratio 0", "multiplier 0"],
)
def test_a_missing_metric_that_is_not_required_gives_the_whole_host_a_weight(
    setting: list[str], multiplier: float, expected: float
) -> None:
    """Unless it counts nothing."""
    weigher = a_weigher(
        *setting, required=False, weight_of_unavailable=-7.0, weight_multiplier=multiplier
    )
    assert weight(weigher, IDLE) == expected


@pytest.mark.parametrize(("text", "expected"), [("0", 10.0), ("2", -7.0), ("two", -7.0)])
def test_the_multiplier_of_the_hosts_aggregates_decides_what_counts(
    text: str, expected: float
) -> None:
    """Its key is metrics_weight_multiplier."""
    cluster_metadata = some_cluster_metadata(
        [an_aggregate(hosts=["host1"], metadata={"metrics_weight_multiplier": text})]
    )
    weigher = a_weigher(
        "cpu.percent=1", "cpu.frequency=1", required=False, weight_of_unavailable=-7.0
    )
    assert weight(weigher, IDLE, cluster_metadata) == expected


def test_multiplier_0_turns_it_off() -> None:
    """Also where a required metric is missing."""
    hosts = a_table([a_host(metrics=BUSY), a_host("host2", metrics=[])])
    off = a_weigher("cpu.percent=1", weight_multiplier=0.0)
    ranking = Ranking([off], hosts, a_request_spec(), np.ones(2, dtype=np.bool_))
    assert ranking.ranked(0).shares == {}


def test_for_all_hosts_together_the_multiplier_of_each_decides_what_counts() -> None:
    """Where it is 0, a required metric may be missing."""
    hosts = [a_host(metrics=BUSY), a_host("host2", metrics=IDLE)]
    exempt = an_aggregate(hosts=["host2"], metadata={"metrics_weight_multiplier": "0"})
    weigher = a_weigher("cpu.percent=1", "cpu.frequency=1")
    table = a_table(hosts, cluster_metadata=some_cluster_metadata([exempt]))
    assert weigher.host_weights(table, a_request_spec()).tolist() == [2050.0, 10.0]
    with pytest.raises(CannotDecide, match=r"does not report cpu\.frequency"):
        weigher.host_weights(a_table(hosts), a_request_spec())
