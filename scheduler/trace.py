"""Write down why a decision comes out as it does, and say in one sentence why one failed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from armillary import measures
from objects import ruled_out, uncoerced
from objects.allocation_candidates import AllocationCandidates
from objects.decision_trace import DecisionTrace
from scheduler.host_table import HostTable
from scheduler.reasons import Reasons
from scheduler.selections import Choice, Ranked

_CONFLICTS_MAX = 10


class TraceBuilder:
    """Collects what happens in one decision; in the end the trace is made of it."""

    def __init__(
        self,
        *,
        request_id: str | None,
        created_at: datetime,
        clock: Callable[[], float],
        choices_max: int,
    ) -> None:
        self._request_id = request_id
        self._created_at = created_at
        self._clock = clock
        self._started = clock()
        self._choices_max = choices_max
        self._choices: dict[str, dict[str, Any]] = {}
        self._found = _Found()
        self._filters: list[dict[str, Any]] = []
        self._timings_ms: dict[str, float] = {}
        self.is_decision = True  # not so where hosts are only offered to another zone

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Add the time that the block takes to a stage."""
        return _Stage(self, name, self._clock)

    def took(self, stage: str, seconds: float) -> None:
        """Add to the time of a stage."""
        self._timings_ms[stage] = self._timings_ms.get(stage, 0.0) + seconds * 1000

    def adopt(self, other: TraceBuilder) -> None:
        """Take over what was found out for several requests at once."""
        self._found = other._found
        self._filters, self._timings_ms = list(other._filters), dict(other._timings_ms)

    def answered(self, candidates: AllocationCandidates) -> None:
        """Note what placement says."""
        uuids = candidates.provider_uuids
        self._found.hosts_total = candidates.providers_total
        self._found.ruled_out = candidates.ruled_out
        self._found.candidates = len(uuids if candidates.is_plain else set(uuids))

    def looked_at(self, hosts: int) -> None:
        """Note how many hosts a driver chooses among that does not ask placement."""
        self._found.hosts_total = self._found.candidates = hosts

    def missed(self, nearest: list[dict[str, Any]]) -> None:
        """Note who comes nearest, as ``DecisionTrace.nearest`` describes it."""
        self._found.nearest = nearest

    @property
    def has_candidates(self) -> bool:
        """Whether placement had any host."""
        return self._found.candidates > 0

    def refused_by_request_filter(self, reason: str) -> None:
        """Note that placement was not asked at all."""
        self._found.ruled_out = [{"kind": "request_filter", "name": reason, "count": 0}]

    def known(self, hosts: int) -> None:
        """Note how many of the candidates are hosts that the scheduler knows."""
        self._found.unknown = self._found.candidates - hosts

    def filtered(self, name: str, before: int, removed: int, reasons: Reasons) -> None:
        """Note what a filter, or another rule, left."""
        self._filters.append(
            {
                "name": name,
                "before": before,
                "removed": removed,
                "reasons": [{"reason": reason, "count": count} for reason, count in reasons],
            }
        )

    def chosen(self, instance_uuid: str, hosts: HostTable, choice: Choice) -> None:
        """Note a choice; a later one for the same instance takes its place."""
        former = self._choices.get(instance_uuid)
        if former is None and len(self._choices) >= self._choices_max:
            return
        self._choices[instance_uuid] = {
            "instance_uuid": instance_uuid,
            "node": hosts.value("nodename", choice.chosen.position),
            **_ranked(hosts, choice.chosen),
            "runners_up": [_ranked(hosts, each) for each in choice.runners_up],
            "conflicts": former["conflicts"] if former else [],
        }

    def refused(self, instance_uuid: str, host: str, reason: str | None) -> None:
        """Note that the claim for the last choice was refused."""
        measures.claim_refused()
        choice = self._choices.get(instance_uuid)
        if choice is not None and len(choice["conflicts"]) < _CONFLICTS_MAX:
            choice["conflicts"].append({"host": host, "reason": reason})

    def finished(self) -> DecisionTrace:
        """Return the trace of a request that got its hosts."""
        return self._ended("placed")

    def _ended(self, outcome: str) -> DecisionTrace:
        self._timings_ms["total"] = (self._clock() - self._started) * 1000
        found = self._found
        if self.is_decision:
            measures.decision_ended(outcome, found.candidates, self._timings_ms)
        return uncoerced.make(
            DecisionTrace,
            request_id=self._request_id,
            created_at=self._created_at,
            hosts_total=found.hosts_total,
            ruled_out=found.ruled_out,
            nearest=found.nearest,
            candidates=found.candidates,
            unknown=found.unknown,
            filters=self._filters,
            choices=list(self._choices.values()),
            timings_ms=self._timings_ms,
            sentence=None,
            zones=[],
        )

    def failed(
        self,
        *,
        placed: int = 0,
        wanted: int = 1,
        aggregate_names: Mapping[str, str] | None = None,
        reason: str | None = None,
    ) -> DecisionTrace:
        """Return the trace of a request that got none; the sentence is ``reason``, or made."""
        trace = self._ended("no_valid_host")
        trace.sentence = reason or explain(
            trace, placed=placed, wanted=wanted, aggregate_names=aggregate_names or {}
        )
        return trace


class _Stage:
    """A block that is timed; a generator would take longer than many a block."""

    __slots__ = ("_builder", "_clock", "_name", "_started")

    def __init__(self, builder: TraceBuilder, name: str, clock: Callable[[], float]) -> None:
        self._builder = builder
        self._name = name
        self._clock = clock

    def __enter__(self) -> None:
        self._started = self._clock()

    def __exit__(self, *raised: object) -> None:
        self._builder.took(self._name, self._clock() - self._started)


@dataclasses.dataclass(slots=True)
class _Found:
    """What several requests may have in common; see ``DecisionTrace``."""

    hosts_total: int = 0
    ruled_out: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    nearest: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    candidates: int = 0
    unknown: int = 0


def _ranked(hosts: HostTable, ranked: Ranked) -> dict[str, Any]:
    return {
        "host": hosts.value("host", ranked.position),
        "weight": ranked.weight,
        "shares": ranked.shares,
    }


# The sentence -----------------------------------------------------------------------------------


def explain(
    trace: DecisionTrace, *, placed: int, wanted: int, aggregate_names: Mapping[str, str]
) -> str:
    """Say what of all hosts is in the way of a request, in one sentence that adds up to the fleet.

    ``placed`` of ``wanted`` instances had a host when none was left for the next one.
    """
    text = ruled_out.joined(_parts(trace, aggregate_names), trace.hosts_total, "host")
    if not text:
        text = "placement knows no host" if not trace.hosts_total else "no host is left"
    if not trace.candidates and (miss := ruled_out.nearest_miss(trace.ruled_out)):
        text = f"{text}; the nearest miss lacks {miss}"
    if placed:
        text = f"only {placed:,} of {wanted:,} instances found room: {text}"
    return f"{text[0].upper()}{text[1:]}."


def _parts(trace: DecisionTrace, names: Mapping[str, str]) -> Iterator[ruled_out.Part]:
    """Yield how many hosts fail, and how."""
    yield from ruled_out.parts_of(trace.ruled_out, names)
    refused = sum(rule["count"] for rule in trace.ruled_out)
    left_out = trace.hosts_total - refused - trace.candidates
    yield (
        max(left_out, 0),
        "was left out by max_placement_results",
        "were left out by max_placement_results",
    )
    what = "not known to this scheduler (yet)"
    yield trace.unknown, f"is {what}", f"are {what}"
    for entry in trace.filters:
        rejected = f"ruled out by {entry['name']}{_because(entry)}"
        yield entry["removed"], f"is {rejected}", f"are {rejected}"


def _because(entry: Mapping[str, Any]) -> str:
    """Return the reason of all, or the most frequent one, in brackets; nothing when unsaid."""
    match entry["reasons"]:
        case []:
            return ""
        case [{"reason": reason, "count": count}, *others]:
            if not others:
                return f" ({reason})"
            known = sum(each["count"] for each in entry["reasons"]) == entry["removed"]
            return f" ({'' if known else 'at least '}{count:,}: {reason})"
    raise AssertionError(entry)
