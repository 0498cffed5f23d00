"""Outcomes are equal when everything but the time they took is."""

import dataclasses

from simulator.results.outcome import Outcome

OUTCOME = Outcome(
    policy="p",
    counts={"accepted": 1},
    refusals=[],
    utilisation={"VCPU": {"mean": 0.5}},
    measures={},
    series={"seconds": [0.0]},
    hosts={"seconds": [0.0], "hosts": {}},
    story="s",
    decisions={"p50_ms": 1.0},
)


def test_timings_and_names_do_not_count() -> None:
    """The fingerprint is that of what happened."""
    other = dataclasses.replace(OUTCOME, policy="q", decisions={"p50_ms": 2.0})
    assert other.fingerprint == OUTCOME.fingerprint
    assert other.to_plain()["fingerprint"] == OUTCOME.fingerprint


def test_everything_else_counts() -> None:
    """A figure, or only the story."""
    others = [
        dataclasses.replace(OUTCOME, counts={"accepted": 2}),
        dataclasses.replace(OUTCOME, story="t"),
        dataclasses.replace(OUTCOME, series={"seconds": [1.0]}),
    ]
    assert OUTCOME.fingerprint not in {other.fingerprint for other in others}
