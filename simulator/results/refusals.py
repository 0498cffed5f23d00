"""Reasons for refused requests, grouped by what rejected the hosts."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from armillary import exception
from objects.traces.decision_trace import DecisionTrace

SHOWN_MAX = 20
KINDS_MAX = 1000
OTHER = "other reasons"

_VARIABLE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<![\w.])\d[\d,.]*\b")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Number of instances refused for one reason, with the sentence of an example."""

    reason: str
    count: int
    example: str


class Refusals:
    """Count refused instances by cause, with an example of each."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    def add(self, cause: str, sentence: str, count: int) -> None:
        """Record why ``count`` instances got no host."""
        if cause not in self._examples and len(self._examples) >= KINDS_MAX:
            cause = OTHER
        self._counts[cause] += count
        self._examples.setdefault(cause, sentence)

    def ranked(self) -> list[Refusal]:
        """Return the causes, most frequent first; a long tail is merged."""
        ordered = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        shown = [
            Refusal(cause, count, self._examples[cause]) for cause, count in ordered[:SHOWN_MAX]
        ]
        rest = sum(count for _cause, count in ordered[SHOWN_MAX:])
        return [*shown, Refusal(OTHER, rest, "")] if rest else shown


def cause_of(error: exception.ArmillaryError) -> str:
    """Return what rejected the hosts: placement's rules, then filters, without counts."""
    primitive = error.kwargs.get("trace")
    if primitive is not None:
        trace = DecisionTrace.obj_from_primitive(primitive)
        rules = [_rule(rule) for rule in trace.ruled_out]
        filters = {str(entry["name"]) for entry in trace.filters if entry["removed"]}
        if rules or filters:
            return ", ".join([*_merged(rules), *sorted(filters)])
    return _VARIABLE.sub("…", str(error.kwargs.get("reason", error)))


def _rule(rule: Mapping[str, Any]) -> tuple[str, str]:
    """Return how a placement rule rejects hosts, and by what."""
    name = str(rule["name"])
    match rule["kind"]:
        case "resource":
            return "too little", name
        case "trait":
            return "without the trait", name
        case "member_of" | "forbidden_aggregate" | "in_tree":
            return "not in the requested zone or aggregate", ""
        case "forbidden_trait" | "disabled":
            return "forbidden", name
        case "request_filter":
            return _VARIABLE.sub("…", name), ""
        case kind:
            return str(kind).replace("_", " "), ""


def _merged(rules: list[tuple[str, str]]) -> Iterator[str]:
    names: dict[str, list[str]] = {}
    for how, name in rules:
        names.setdefault(how, []).append(name)
    for how, found in names.items():
        yield f"{how} {' or '.join(sorted(set(filter(None, found))))}".strip()
