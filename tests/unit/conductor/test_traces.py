"""Tests of taking a trace apart, bounding it, and leaving hosts out of it."""

from __future__ import annotations

import json
from typing import Any

from conductor import traces
from objects.decision_trace import DecisionTrace


def a_trace(**values: Any) -> DecisionTrace:
    choice = {
        "instance_uuid": "i1", "host": "h1", "node": "n1", "weight": 1.0, "shares": {"ram": 1.0},
        "runners_up": [{"host": "h2", "weight": 0.5, "shares": {}}],
        "conflicts": [{"host": "h3", "reason": "h3 is full"}],
    }  # fmt: skip
    defaults = {
        "hosts_total": 9, "choices": [choice, {**choice, "instance_uuid": "i2"}],
        "filters": [{"name": "ComputeFilter", "before": 9, "removed": 2, "reason": "h4 is down"}],
        "ruled_out": [{"kind": "trait", "name": "HW", "count": 3}], "sentence": "all is well",
    }  # fmt: skip
    return DecisionTrace.from_values({**defaults, **values})


def test_choices_are_taken_out() -> None:
    """One for each instance; the rest is shared."""
    shared, choices = traces.split(a_trace(), size_max=10_000)
    assert "choices" not in shared
    assert (shared["hosts_total"], set(choices)) == (9, {"i1", "i2"})


def test_a_large_trace_keeps_what_matters() -> None:
    """Its longest details go first; sentence and counts stay."""
    large = a_trace(filters=[{"name": "F" * 5000, "before": 1, "removed": 1, "reason": "r"}])
    shared, _ = traces.split(large, size_max=1000)
    assert len(json.dumps(shared)) <= 1000
    assert (shared["filters"], shared["sentence"]) == ([], "all is well")
    assert shared["ruled_out"] != []


def test_a_large_choice_loses_its_runners_up() -> None:
    """Where it went stays."""
    choice = {"instance_uuid": "i1", "host": "h1", "runners_up": [{"host": "h" * 5000}]}
    _, choices = traces.split(a_trace(choices=[choice]), size_max=1000)
    assert choices["i1"] == {"instance_uuid": "i1", "host": "h1", "runners_up": []}


def test_no_host_is_named_to_users() -> None:
    """Numbers, weights and the sentence are."""
    plain = a_trace().to_plain()
    shown = json.dumps(traces.without_hosts(plain))
    assert not [host for host in ("h1", "h2", "h3", "h4", "n1") if f'"{host}' in shown]
    assert "h3 is full" not in shown
    assert "all is well" in shown
    assert plain["choices"][0]["host"] == "h1"


def test_an_error_may_bring_its_trace() -> None:
    """In wire form, or none, or something else."""
    found = traces.from_error(a_trace().obj_to_primitive())
    assert found is not None
    assert found.sentence == "all is well"
    assert traces.from_error(None) is None
    assert traces.from_error({"sentence": "plain"}) is None
