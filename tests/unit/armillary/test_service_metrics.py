"""Every metric is declared once, works, and stands in the manual."""

from __future__ import annotations

import gc
import queue
import re
from pathlib import Path

import pytest

from armillary import service_metrics
from armillary.metrics import process_metrics

MANUAL = Path(__file__).parents[3] / "docs" / "operating" / "monitoring.md"


def value(name: str, **labels: str) -> float | None:
    return process_metrics().registry.get_sample_value(f"armillary_{name}", labels)


def shown_name(measure: object) -> str:
    """Return the name under which Prometheus sees it."""
    name = f"armillary_{measure.name}"  # type: ignore[attr-defined]
    return f"{name}_total" if isinstance(measure, service_metrics.Counter) else name


def test_the_manual_names_each_metric_with_its_labels() -> None:
    """No more, no less."""
    rows = re.findall(r"^\| `(armillary_\w+)` \| ([^|]*) \|", MANUAL.read_text(), re.MULTILINE)
    told = {name: tuple(re.findall(r"`(\w+)`", labels)) for name, labels in rows}
    assert told == {shown_name(each): each.labels for each in service_metrics.ALL}


@pytest.mark.parametrize("measure", service_metrics.ALL, ids=lambda measure: measure.name)
def test_a_metric_can_be_made(measure: service_metrics.Counter) -> None:
    """Names and labels are such that Prometheus takes them, and its unit is in its name."""
    assert measure.here is measure.here
    if (
        isinstance(measure, service_metrics.Histogram)
        and measure.buckets == service_metrics.SECONDS
    ):
        assert measure.name.endswith("_seconds")


def test_a_decision_is_counted_with_its_stages() -> None:
    """Milliseconds of a trace become seconds."""
    before = value("scheduler_decisions_total", outcome="placed") or 0.0
    service_metrics.decision_ended("placed", 250, {"a stage": 1500.0})
    assert value("scheduler_decisions_total", outcome="placed") == before + 1
    assert value("scheduler_decision_seconds_sum", stage="a stage") == 1.5


def test_works_in_recovery_are_those_of_the_last_look() -> None:
    """What was taken up goes on counting."""
    for found in (3, 0):
        service_metrics.record_orphaned_tasks("a_table", found)
        if found:
            service_metrics.tasks_resumed("a_table", found)
    assert value("works_in_recovery", table="a_table") == 0
    assert value("works_taken_up_total", table="a_table") == 3


def test_a_queue_is_shown_as_long_as_it_lives() -> None:
    """A metric keeps nothing alive, and outlives what it shows."""
    waiting: queue.Queue[int] = queue.Queue()
    service_metrics.watch_pool("a pool", waiting)
    waiting.put(1)
    assert value("pool_waiting", pool="a pool") == 1
    del waiting
    gc.collect()
    assert value("pool_waiting", pool="a pool") == 0
