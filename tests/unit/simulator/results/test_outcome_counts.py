"""Counts, and how fast decisions were."""

import pytest

from simulator.results.outcome_counts import OutcomeCounts


def test_decisions_are_summed_up() -> None:
    """How many a second, and what most of them took."""
    tally = OutcomeCounts()
    tally.decision_seconds.extend([0.001] * 99 + [0.101])
    decisions = tally.decisions()
    assert decisions["count"] == 100
    assert decisions["per_second"] == pytest.approx(500)
    assert decisions["p50_ms"] == pytest.approx(1.0)
    assert 1.0 < decisions["p99_ms"] < 101.0


def test_without_decisions_there_are_no_figures() -> None:
    """And no division by zero."""
    assert OutcomeCounts().decisions() == {
        "count": 0,
        "per_second": 0.0,
        "p50_ms": 0.0,
        "p99_ms": 0.0,
    }


def test_the_order_of_what_happened_counts() -> None:
    """For the fingerprint."""
    one, other = OutcomeCounts(), OutcomeCounts()
    one.happened(1.0, "placed", "a")
    one.happened(1.0, "placed", "b")
    other.happened(1.0, "placed", "b")
    other.happened(1.0, "placed", "a")
    assert one.fingerprint != other.fingerprint
