"""Decision traces: a record of each step, and a sentence that explains a failure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, NamedTuple

from armillary.metrics import service_metrics
from objects.allocations.allocation_candidates import AllocationCandidates
from objects.packed import unchecked
from objects.traces import ruled_out
from objects.traces.decision_trace import (
    DecisionTrace,
    FilterReason,
    FilterStep,
    NearMiss,
    RuledOut,
)
from scheduler.explain.reasons import Reasons
from scheduler.hosts.host_table import HostTable
from scheduler.weights.ranking import Ranked

NO_ROOM = "room"
"""Name of the rule for hosts that were filled by instances selected earlier in the request. Its
reasons name the resources that ran out, and are added up."""

_CONFLICTS_MAX = 10


@dataclasses.dataclass(frozen=True, slots=True)
class NearestMiss:
    """A provider that nearly fits a request group; ``lacks`` is as in ``DecisionTrace.nearest``."""

    suffix: str
    host: str
    lacks: list[Any]


class TraceBuilder:
    """Records the steps of one decision and creates its trace."""

    def __init__(
        self,
        *,
        request_id: str | None,
        created_at: datetime,
        clock: Callable[[], float],
        choices_max: int,
        noun: str = "host",
    ) -> None:
        self._noun = noun
        self._request_id = request_id
        self._created_at = created_at
        self._clock = clock
        self._started = clock()
        self._choices_max = choices_max
        self._choices: dict[str, _Choice] = {}
        self._found = _Found()
        self._filters: list[FilterStep] = []
        self._timings_ms: dict[str, float] = {}
        self.is_decision = True  # False if hosts are only offered to another zone

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Add the time of the block to a stage."""
        return _Stage(self, name, self._clock)

    def add_seconds(self, stage: str, seconds: float) -> None:
        """Add seconds to the time of a stage."""
        self._timings_ms[stage] = self._timings_ms.get(stage, 0.0) + seconds * 1000

    def adopt(self, other: TraceBuilder) -> None:
        """Copy the results found for several requests together."""
        self._found = other._found
        self._filters, self._timings_ms = list(other._filters), dict(other._timings_ms)

    def set_candidates(
        self, candidates: AllocationCandidates, names_of: Callable[[Iterable[str]], list[str]]
    ) -> None:
        """Record placement's response; ``names_of`` returns the names of nodes by UUID."""
        uuids = candidates.provider_uuids
        self._found.hosts_total = candidates.providers_total
        self._found.ruled_out = [_named(rule, names_of) for rule in candidates.ruled_out]
        self._found.candidates = len(uuids if candidates.is_flat else set(uuids))
        self._found.lacks = candidates.lacks

    def set_hosts_considered(self, hosts: int) -> None:
        """Record the number of hosts considered by a driver that does not query placement."""
        self._found.hosts_total = self._found.candidates = hosts

    def set_nearest_misses(self, nearest: Sequence[NearestMiss]) -> None:
        """Record the nearest misses."""
        self._found.nearest = [
            NearMiss(suffix=each.suffix, host=each.host, lacks=each.lacks) for each in nearest
        ]

    def set_notes(self, notes: list[str]) -> None:
        """Record what was asked for and has no effect."""
        self._found.notes = notes

    @property
    def has_candidates(self) -> bool:
        """Whether placement returned any host."""
        return self._found.candidates > 0

    def refused_by_request_filter(self, reason: str) -> None:
        """Record that a request filter failed and placement was not queried."""
        self._found.ruled_out = [{"kind": "request_filter", "name": reason, "count": 0}]

    def known(self, hosts: int) -> None:
        """Record how many of the candidates the scheduler knows as hosts."""
        self._found.unknown = self._found.candidates - hosts

    def filtered(
        self, name: str, before: int, removed: int, reasons: Reasons, hosts: list[str]
    ) -> None:
        """Record the effect of a filter or another rule; ``hosts`` are some of the removed ones."""
        self._filters.append(_filtered(name, before, removed, reasons, hosts))

    @property
    def filter_results(self) -> str:
        """How many hosts placement, and then each filter, left."""
        found = self._found
        parts = [f"placement: {found.candidates:,} of {found.hosts_total:,}"]
        if found.unknown:
            parts.append(f"known: {found.candidates - found.unknown:,}")
        parts += [f"{each['name']}: {each['before'] - each['removed']:,}" for each in self._filters]
        return ", ".join(parts)

    @property
    def summary(self) -> str:
        """The decision in numbers."""
        removed = sum(each["removed"] for each in self._filters)
        left = self._found.candidates - self._found.unknown - removed
        milliseconds = (self._clock() - self._started) * 1000
        return (
            f"{left:,} of {self._found.hosts_total:,} {self._noun}s passed placement "
            f"({self._found.candidates:,}) and filters, in {milliseconds:.0f} ms"
        )

    def chosen(
        self, instance_uuid: str, hosts: HostTable, chosen: Ranked, runners_up: Sequence[Ranked]
    ) -> None:
        """Record a selection; a later one for the same instance replaces it."""
        former = self._choices.get(instance_uuid)
        if former is not None or len(self._choices) < self._choices_max:
            conflicts = former.conflicts if former else []
            self._choices[instance_uuid] = _Choice(hosts, chosen, runners_up, conflicts)

    def refused(self, instance_uuid: str, host: str, reason: str | None) -> None:
        """Record that the claim for the last selection was refused."""
        service_metrics.CLAIM_CONFLICTS.add()
        choice = self._choices.get(instance_uuid)
        if choice is not None and len(choice.conflicts) < _CONFLICTS_MAX:
            choice.conflicts.append((host, reason))

    def finished(self) -> DecisionTrace:
        """Return the trace of a successful request."""
        return self._ended("placed")

    def _ended(self, outcome: str) -> DecisionTrace:
        self._timings_ms["total"] = (self._clock() - self._started) * 1000
        found = self._found
        if self.is_decision:
            service_metrics.decision_ended(outcome, found.candidates, self._timings_ms)
        return unchecked.make(
            DecisionTrace,
            request_id=self._request_id,
            created_at=self._created_at,
            hosts_total=found.hosts_total,
            ruled_out=found.ruled_out,
            nearest=found.nearest,
            candidates=found.candidates,
            unknown=found.unknown,
            filters=list(self._filters),
            choices=[choice.to_plain(uuid) for uuid, choice in self._choices.items()],
            timings_ms=self._timings_ms,
            sentence=None,
            zones=[],
            notes=found.notes,
            old_states=[],
        )

    def failed(
        self,
        *,
        placed: int = 0,
        wanted: int = 1,
        aggregate_names: Mapping[str, str] | None = None,
        reason: str | None = None,
    ) -> DecisionTrace:
        """Return the trace of a failed request; ``reason`` replaces the generated sentence."""
        trace = self._ended("no_valid_host")
        trace.sentence = reason or explain(
            trace,
            placed=placed,
            wanted=wanted,
            aggregate_names=aggregate_names or {},
            lacks=self._found.lacks,
            noun=self._noun,
        )
        return trace


class _Stage:
    """A timed block; faster than a generator-based context manager."""

    __slots__ = ("_builder", "_clock", "_name", "_started")

    def __init__(self, builder: TraceBuilder, name: str, clock: Callable[[], float]) -> None:
        self._builder = builder
        self._name = name
        self._clock = clock

    def __enter__(self) -> None:
        self._started = self._clock()

    def __exit__(self, *raised: object) -> None:
        self._builder.add_seconds(self._name, self._clock() - self._started)


@dataclasses.dataclass(slots=True)
class _Found:
    """Results that several requests may share; see ``DecisionTrace``.

    Traces of requests that were decided together hold the same lists and dicts: what is the same
    object is sent once.
    """

    hosts_total: int = 0
    ruled_out: list[RuledOut] = dataclasses.field(default_factory=list)
    nearest: list[NearMiss] = dataclasses.field(default_factory=list)
    candidates: int = 0
    unknown: int = 0
    notes: list[str] = dataclasses.field(default_factory=list)
    lacks: Sequence[Mapping[str, Any]] = ()


def _filtered(
    name: str, before: int, removed: int, reasons: Reasons, hosts: list[str]
) -> FilterStep:
    """Return the effect of one filter or rule, as ``DecisionTrace.filters`` has it."""
    shown: list[FilterReason] = [{"reason": reason, "count": count} for reason, count in reasons]
    step: FilterStep = {"name": name, "before": before, "removed": removed, "reasons": shown}
    return {**step, "hosts": hosts} if hosts else step


def _named(rule: RuledOut, names_of: Callable[[Iterable[str]], list[str]]) -> RuledOut:
    """Return a rule of placement's with names of hosts in place of UUIDs of providers."""
    shown = rule.copy()
    hosts = names_of(shown.pop("providers", ()))
    return {**shown, "hosts": hosts} if hosts else shown


class _Choice(NamedTuple):
    """The selection for one instance; conflicts are hosts that refused it, and why."""

    hosts: HostTable
    chosen: Ranked
    runners_up: Sequence[Ranked]
    conflicts: list[tuple[str, str | None]]

    def to_plain(self, instance_uuid: str) -> dict[str, object]:
        chosen, *runners_up = (
            {
                "host": self.hosts.value("host", each.position),
                "weight": each.weight,
                "shares": each.shares,
            }
            for each in (self.chosen, *self.runners_up)
        )
        return {
            **chosen,
            "instance_uuid": instance_uuid,
            "node": self.hosts.value("nodename", self.chosen.position),
            "runners_up": runners_up,
            "conflicts": [{"host": host, "reason": reason} for host, reason in self.conflicts],
        }


# The sentence -----------------------------------------------------------------------------------


def explain(
    trace: DecisionTrace,
    *,
    placed: int,
    wanted: int,
    aggregate_names: Mapping[str, str],
    lacks: Sequence[Mapping[str, Any]] = (),
    noun: str = "host",
) -> str:
    """Return one sentence with the reasons for all hosts; the counts add up to all hosts.

    ``placed`` of ``wanted`` instances had a host when no host was left for the next one. ``lacks``
    is what the nearest host lacks for placement to offer it.
    """
    parts = [part for part in _parts(trace, aggregate_names) if part[0]]
    text = ruled_out.joined(parts, trace.hosts_total, noun)
    if not text:
        text = f"no {noun}s are left" if trace.hosts_total else f"there is no {noun} yet"
    missing = "" if trace.candidates else ruled_out.lacks_text(lacks, aggregate_names)
    if missing and [missing] != [one for _count, one, _many in parts]:
        text = f"{text}; the nearest miss {missing}"
    if placed:
        text = f"only {placed:,} of {wanted:,} instances could be placed: {text}"
    return f"{text[0].upper()}{text[1:]}."


def _parts(trace: DecisionTrace, names: Mapping[str, str]) -> Iterator[ruled_out.Part]:
    """Yield the number of failed hosts and the reason, in singular and plural."""
    yield from ruled_out.parts_of(trace.ruled_out, names)
    refused = sum(rule["count"] for rule in trace.ruled_out)
    left_out = trace.hosts_total - refused - trace.candidates
    yield (
        max(left_out, 0),
        "was cut off by max_placement_results",
        "were cut off by max_placement_results",
    )
    what = "not known to this scheduler (yet)"
    yield trace.unknown, f"is {what}", f"are {what}"
    for entry in trace.filters:
        if entry["name"] == NO_ROOM:
            for each in entry["reasons"]:
                yield each["count"], f"has {each['reason']}", f"have {each['reason']}"
        else:
            rejected = f"ruled out by {entry['name']}{_because(entry)}"
            yield entry["removed"], f"is {rejected}", f"are {rejected}"


def _because(entry: Mapping[str, Any]) -> str:
    """Return the common or most frequent reason in parentheses; empty if there is none."""
    match entry["reasons"]:
        case []:
            return ""
        case [{"reason": reason, "count": count}, *others]:
            if not others:
                return f" ({reason})"
            known = sum(each["count"] for each in entry["reasons"]) == entry["removed"]
            return f" ({'' if known else 'at least '}{count:,}: {reason})"
    raise AssertionError(entry)
