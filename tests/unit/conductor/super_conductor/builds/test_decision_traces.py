"""Tests of taking a trace apart, bounding it, and leaving hosts out of it."""

import json
from typing import Any

from conductor.super_conductor.builds import decision_traces
from objects.selection import Selection
from objects.traces.decision_trace import DecisionTrace

DOWN: dict[str, Any] = {"reason": "its service is down", "count": 2}


def a_trace(**values: Any) -> DecisionTrace:
    choice = {
        "instance_uuid": "i1", "host": "h1", "node": "n1", "weight": 1.0,
        "shares": {"ram": {"raw": 9.0, "normalised": 1.0, "weight": 1.0}},
        "runners_up": [{"host": "h2", "weight": 0.5, "shares": {}}],
        "conflicts": [{"host": "h3", "reason": "h3 is full"}],
    }  # fmt: skip
    defaults = {
        "hosts_total": 9, "choices": [choice, {**choice, "instance_uuid": "i2"}],
        "filters": [
            {"name": "F", "before": 9, "removed": 2, "reasons": [DOWN], "hosts": ["h5", "h6"]}
        ],
        "nearest": [{"suffix": "", "host": "h4", "lacks": []}],
        "ruled_out": [{"kind": "trait", "name": "HW", "count": 3, "hosts": ["h7"]}],
        "sentence": "all is well",
    }  # fmt: skip
    return DecisionTrace.from_values({**defaults, **values})


def test_choices_are_taken_out() -> None:
    """One for each instance; the rest is shared."""
    split = decision_traces.split(a_trace(), size_max=10_000)
    assert "choices" not in split.shared
    assert (split.shared["hosts_total"], set(split.choices)) == (9, {"i1", "i2"})


def test_a_large_trace_keeps_what_matters() -> None:
    """Its longest details go first; sentence and counts stay."""
    large = a_trace(filters=[{"name": "F" * 5000, "before": 1, "removed": 1, "reasons": []}])
    shared = decision_traces.split(large, size_max=1000).shared
    assert len(json.dumps(shared)) <= 1000
    assert (shared["filters"], shared["sentence"]) == ([], "all is well")
    assert shared["ruled_out"] != []


def test_a_large_trace_loses_the_names_behind_its_steps_first() -> None:
    """How many hosts each step removed stays."""
    plain = a_trace().to_plain()
    whole = len(json.dumps(decision_traces.split(a_trace(), size_max=10_000).shared))
    shared = decision_traces.split(a_trace(), size_max=whole - 1).shared
    assert "h5" not in json.dumps(shared)
    assert shared["filters"][0]["removed"] == plain["filters"][0]["removed"]


def test_a_stored_choice_names_its_alternates() -> None:
    """In their order; the others of the request keep theirs."""
    selections = [Selection.from_values(service_host=name) for name in ("h1", "h8", "h9")]
    split = decision_traces.split(a_trace(), size_max=10_000, selections={"i1": selections})
    assert split.choices["i1"]["alternates"] == ["h8", "h9"]
    shown = decision_traces.without_hosts({"choices": [split.choices["i1"]]})
    assert shown["choices"][0]["alternates"] == [None, None]


def test_a_large_choice_loses_its_runners_up() -> None:
    """Where it went stays."""
    choice = {"instance_uuid": "i1", "host": "h1", "runners_up": [{"host": "h" * 5000}]}
    split = decision_traces.split(a_trace(choices=[choice]), size_max=1000)
    assert split.choices["i1"] == {"instance_uuid": "i1", "host": "h1", "runners_up": []}


def test_no_host_is_named_to_users() -> None:
    """Numbers, weights, reasons of filters and the sentence are."""
    plain = a_trace().to_plain()
    shown = json.dumps(decision_traces.without_hosts(plain))
    assert not [host for host in ("h1", "h2", "h3", "h4", "h5", "h7", "n1") if f'"{host}' in shown]
    assert "h3 is full" not in shown
    assert "all is well" in shown
    assert DOWN["reason"] in shown
    assert plain["choices"][0]["host"] == "h1"


def test_no_zone_is_named_to_users() -> None:
    """What became of each, and how many hosts it offered, is."""
    own = {"path": [], "outcome": "own", "hosts": 0, "seconds": 0.1, "reason": "All are full."}
    late = {"path": ["eu"], "outcome": "late", "hosts": 0, "seconds": 5.0, "reason": "eu: nothing"}
    shown = decision_traces.without_hosts({"zones": [own, late]})
    assert shown["zones"] == [own, {**late, "path": [None], "reason": None}]


def test_an_error_may_bring_its_trace() -> None:
    """In wire form, or none, or something else."""
    found = decision_traces.from_error(a_trace().obj_to_primitive())
    assert found is not None
    assert found.sentence == "all is well"
    assert decision_traces.from_error(None) is None
    assert decision_traces.from_error({"sentence": "plain"}) is None


def test_aggregates_are_called_by_their_names() -> None:
    """Those that are known."""
    known, gone = (f"aaaaaaaa-0000-0000-0000-00000000000{number}" for number in (1, 2))
    rule = {"kind": "member_of", "name": f"{known} or {gone}", "count": 1}
    trace = {"ruled_out": [rule, {"kind": "trait", "name": "HW", "count": 3}]}
    named = decision_traces.with_names(trace, lambda: {known: "ssd"})
    assert [each["name"] for each in named["ruled_out"]] == [f"ssd or {gone}", "HW"]


def test_names_that_no_rule_needs_are_not_asked_for() -> None:
    """Most traces have none."""

    def unexpected_query() -> dict[str, str]:
        raise AssertionError("not needed")

    trace = {"ruled_out": [{"kind": "trait", "name": "HW", "count": 3}]}
    assert decision_traces.with_names(trace, unexpected_query) == trace
