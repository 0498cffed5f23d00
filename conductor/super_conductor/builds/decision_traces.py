"""Decision traces split for storage: what all instances share, and each one's choice."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conductor.super_conductor.db.traces import SplitTrace
from objects.selection import Selection
from objects.traces import ruled_out
from objects.traces.decision_trace import DecisionTrace, Plain, PlainTrace

_OF_AGGREGATES = {"member_of", "forbidden_aggregate"}
_DETAILS = ("ruled_out", "nearest", "filters", "timings_ms", "zones")
_STEPS = ("ruled_out", "filters")


def split(
    trace: DecisionTrace,
    *,
    size_max: int,
    selections: Mapping[str, Sequence[Selection]] | None = None,
) -> SplitTrace:
    """Return the shared part and the choices, with the alternates of each instance's selections.

    If the shared part has more than ``size_max`` bytes, the names of hosts behind its steps are
    dropped, then its longest parts. A choice that is larger than that loses its runners-up.
    """
    shared = trace.to_plain()
    choices = {choice["instance_uuid"]: choice for choice in shared.pop("choices")}
    for uuid, (_host, *others) in (selections or {}).items():
        if uuid in choices:
            choices[uuid] = {**choices[uuid], "alternates": [one.service_host for one in others]}
    if _size(shared) > size_max:
        shared |= _nameless_steps(shared)
    if _size(shared) > size_max:
        _cut(shared, size_max)
    cut = {
        uuid: choice if _size(choice) <= size_max else {**choice, "runners_up": []}
        for uuid, choice in choices.items()
    }
    return SplitTrace(shared, cut)


def _cut(shared: PlainTrace, size_max: int) -> None:
    present = [name for name in _DETAILS if name in shared]
    for name in sorted(present, key=lambda part: _size(shared[part]), reverse=True):
        shared[name] = type(shared[name])()
        if _size(shared) <= size_max:
            break


def from_error(primitive: Any) -> DecisionTrace | None:
    """Return the trace from an error's wire form; None if it has none."""
    if not primitive or not DecisionTrace.is_primitive(primitive):
        return None
    trace: DecisionTrace = DecisionTrace.obj_from_primitive(primitive)
    return trace


def with_names(trace: PlainTrace, names: Callable[[], Mapping[str, str]]) -> PlainTrace:
    """Return a plain trace with names of aggregates; ``names`` is called only if there are any.

    An aggregate that was deleted meanwhile keeps its UUID.
    """
    rules = trace.get("ruled_out", [])
    if not any(rule["kind"] in _OF_AGGREGATES for rule in rules):
        return trace
    known = names()
    named = [{**rule, "name": ruled_out.named(str(rule["name"]), known)} for rule in rules]
    return {**trace, "ruled_out": named}


def without_hosts(trace: PlainTrace) -> PlainTrace:
    """Return a copy of a plain trace without names of hosts and zones, which users may not see.

    Reasons of filters never contain names (``scheduler.explain.reasons``).
    """
    zones = {"zones": [_nameless(each) for each in trace["zones"]]} if "zones" in trace else {}
    return {
        **trace,
        **_nameless_steps(trace),
        **zones,
        "nearest": [{**one, "host": None} for one in trace.get("nearest", [])],
        "choices": [_anonymous(choice) for choice in trace.get("choices", [])],
    }


def _nameless_steps(trace: PlainTrace) -> PlainTrace:
    """Return rules and filters of a trace without the names of hosts."""
    return {
        name: [{key: part for key, part in step.items() if key != "hosts"} for step in trace[name]]
        for name in _STEPS
        if name in trace
    }


def _anonymous(choice: Plain) -> Plain:
    return {
        **choice,
        "host": None,
        "node": None,
        "runners_up": [{**one, "host": None} for one in choice.get("runners_up", [])],
        "alternates": [None for _ in choice.get("alternates", [])],
        "conflicts": [{**one, "host": None, "reason": None} for one in choice.get("conflicts", [])],
    }


def _nameless(zone: Plain) -> Plain:
    """Return a zone's result without its name, and without a reason that may contain one.

    The zone that was asked first has an empty path, and keeps its reason.
    """
    path = zone["path"]
    return {**zone, "path": [None] * len(path), "reason": None if path else zone["reason"]}


def _size(value: Any) -> int:
    return len(json.dumps(value, default=str))
