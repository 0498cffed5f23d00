"""Measurements of monitors, by name."""

from typing import Any

import pytest

from scheduler.hosts import host_metrics


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ({"name": "cpu.frequency", "value": 2400}, 2400.0),
        ({"name": "cpu.idle.time", "value": 1.5}, 1.5),
        ({"name": "cpu.percent", "value": 0.29}, 29.0),
        ({"name": "cpu.user.percent", "value": 1}, 100.0),
    ],
)
def test_a_number_is_read(metric: dict[str, Any], value: float) -> None:
    """A share becomes a whole percent, rounded."""
    assert host_metrics.values_of([metric], {metric["name"]}) == {metric["name"]: value}
    assert host_metrics.values_of([metric], {"another"}) == {}


@pytest.mark.parametrize(
    "value", [None, "9", {"0": 1}, float("nan"), float("inf"), 1e200, 10**400], ids=str
)
def test_what_is_not_a_number_is_not_reported(value: Any) -> None:
    """Nor is one that sums could not hold."""
    found = host_metrics.values_of(
        [
            {"name": "a.percent", "value": value},
            "noise",
            {},
            {"name": []},
            {"name": "b", "value": 1},
        ],
        {"a.percent", "b"},
    )
    assert found == {"b": 1.0}


@pytest.mark.parametrize("metrics", [None, [], ()])
def test_a_host_without_monitors_reports_nothing(metrics: Any) -> None:
    """Also one of which nothing is known."""
    assert host_metrics.values_of(metrics, {"cpu.percent"}) == {}
