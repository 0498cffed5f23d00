"""Figures that services report: sums of metrics, and what is let in of others' reports."""

import pytest

from armillary import service_history
from armillary.metrics import service_figures, service_metrics
from armillary.metrics.service_figures import FIGURES, FIGURES_MAX, FigureReporter


def test_a_counter_is_reported_with_its_rate() -> None:
    """Which is its increase since the last report."""
    now = [100.0]
    reporter = FigureReporter(service_history.SCHEDULER, monotonic=lambda: now[0])
    before = reporter.read()
    service_metrics.DECISIONS.add("placed", count=30)
    service_metrics.DECISIONS.add("no_valid_host", count=10)
    now[0] += 10
    after = reporter.read()
    assert after["decisions_total"] - before["decisions_total"] == 40
    assert after["no_valid_host_total"] - before["no_valid_host_total"] == 10
    assert (before["decisions_per_second"], after["decisions_per_second"]) == (0, 4.0)
    assert after["no_valid_host_per_second"] == 1.0


def test_a_conductor_reports_what_is_of_its_role() -> None:
    """Both roles may share a process, and its metrics."""
    top = FigureReporter(service_figures.SUPER_CONDUCTOR)
    cell = FigureReporter(service_figures.CELL_CONDUCTOR)
    name = "leases_taken_over_total"
    before = top.read()[name], cell.read()[name]
    service_metrics.TAKEN_OVER.add("instance_builds", count=5)
    assert (top.read()[name] - before[0], cell.read()[name] - before[1]) == (0, 5)


@pytest.mark.parametrize("kind", FIGURES)
def test_every_service_reports_few_figures_that_are_let_in(kind: str) -> None:
    """Nothing of a report is left out by the receiver."""
    found = FigureReporter(kind).read()
    assert service_figures.checked(found) == found
    assert 0 < len(found) <= FIGURES_MAX


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), -1, 1e300, "7", None, [1], {"a": 1}], ids=str
)
def test_what_is_not_a_figure_is_left_out(value: object) -> None:
    """The rest of the report counts."""
    reported = {"decisions_total": value, "queue_length": 2, "made_up": 1}
    assert service_figures.checked(reported) == {"queue_length": 2}
