"""Packed form of the decision traces of one answer, with repeated values written once.

Requests that were decided together have the same candidates, filters and, mostly, weights. The
packed form is a plain dict of tables; a number in one of them is a row of another.

- ``found``: results of placement, filters and other zones: dicts of the trace's own fields, without
  ``zones`` and ``notes`` if these are empty.
- ``weighers``: lists of names; ``shares``: rows of a list of weighers and three numbers (raw,
  normalised, weight) for each of them.
- ``ranked``: rows of host, weight and shares.
- ``stages``: lists of names.
- ``traces``: rows of found, request_id, created_at, stages, milliseconds, choices and sentence. A
  choice is a row of instance_uuid, node, ranked, runners-up (each a ranked) and conflicts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from datetime import datetime
from typing import Any

from objects.packed import unchecked
from objects.packed.distinct_rows import DistinctRows
from objects.traces.decision_trace import DecisionTrace, Plain

_NUMBERS = ("raw", "normalised", "weight")
_TIMING_DIGITS = 3  # microseconds


class _Packer:
    def __init__(self) -> None:
        self.found, self.weighers, self.shares, self.ranked, self.stages = (
            DistinctRows() for _ in range(5)
        )

    def trace(self, trace: DecisionTrace) -> list[Any]:
        timings = trace.timings_ms
        names = tuple(timings)
        created_at = trace.created_at
        return [
            self._found(trace),
            trace.request_id,
            created_at.isoformat() if created_at is not None else None,
            self.stages.index(names, list(names)),
            [round(value, _TIMING_DIGITS) for value in timings.values()],
            [self._choice(choice) for choice in trace.choices],
            trace.sentence,
        ]

    def _found(self, trace: DecisionTrace) -> int:
        parts = (
            trace.ruled_out, trace.nearest, trace.zones, trace.notes, trace.old_states,
            *trace.filters,
        )  # fmt: skip
        counts = (trace.hosts_total, trace.candidates, trace.unknown)
        identity = (counts, tuple(id(part) if part else None for part in parts))

        def make() -> tuple[Hashable, Any]:
            row = {
                "hosts_total": trace.hosts_total,
                "ruled_out": trace.ruled_out,
                "nearest": trace.nearest,
                "candidates": trace.candidates,
                "unknown": trace.unknown,
                "filters": trace.filters,
                **({"zones": trace.zones} if trace.zones else {}),
                **({"notes": trace.notes} if trace.notes else {}),
                **({"old_states": trace.old_states} if trace.old_states else {}),
            }
            return identity, row

        return self.found.index_of(identity, parts, make)

    def _choice(self, choice: Plain) -> list[Any]:
        return [
            choice["instance_uuid"],
            choice["node"],
            self._ranked(choice),
            [self._ranked(each) for each in choice["runners_up"]],
            choice["conflicts"],
        ]

    def _ranked(self, ranked: Plain) -> int:
        shares = ranked["shares"]
        identity = (ranked["host"], ranked["weight"], id(shares))

        def make() -> tuple[Hashable, Any]:
            row = [ranked["host"], ranked["weight"], self._shares(shares)]
            return tuple(row), row

        return self.ranked.index_of(identity, shares, make)

    def _shares(self, shares: Plain) -> int:
        def make() -> tuple[Hashable, Any]:
            names = tuple(shares)
            weighers = self.weighers.index(names, list(names))
            row = [weighers, *(each[name] for each in shares.values() for name in _NUMBERS)]
            return tuple(row), row

        return self.shares.index_of(id(shares), shares, make)


def pack(traces: Iterable[DecisionTrace]) -> Plain:
    """Return the packed form of traces, in their order. The traces are not changed."""
    packer = _Packer()
    rows = [packer.trace(trace) for trace in traces]
    return {
        "found": packer.found.rows,
        "weighers": packer.weighers.rows,
        "shares": packer.shares.rows,
        "ranked": packer.ranked.rows,
        "stages": packer.stages.rows,
        "traces": rows,
    }


def unpack(packed: Plain) -> Iterator[DecisionTrace]:
    """Yield the traces. Shared lists and dicts are one object and must not be changed.

    Raises ``LookupError``, ``TypeError`` or ``ValueError`` for a malformed form.
    """
    weighers = packed["weighers"]
    shares = [_shares(weighers[row[0]], row) for row in packed["shares"]]
    ranked = [
        {"host": host, "weight": weight, "shares": shares[index]}
        for host, weight, index in packed["ranked"]
    ]
    for found, request_id, created_at, stages, timings, choices, sentence in packed["traces"]:
        yield unchecked.make(
            DecisionTrace,
            **{"zones": [], "notes": [], "old_states": [], **packed["found"][found]},
            request_id=request_id,
            created_at=None if created_at is None else datetime.fromisoformat(created_at),
            choices=[_choice(ranked, choice) for choice in choices],
            timings_ms=dict(zip(packed["stages"][stages], timings, strict=True)),
            sentence=sentence,
        )


def _shares(weighers: list[str], row: list[Any]) -> Plain:
    return {
        name: dict(zip(_NUMBERS, row[at : at + len(_NUMBERS)], strict=True))
        for name, at in zip(weighers, range(1, len(row), len(_NUMBERS)), strict=True)
    }


def _choice(ranked: list[Plain], choice: list[Any]) -> Plain:
    instance_uuid, node, chosen, runners_up, conflicts = choice
    return {
        "instance_uuid": instance_uuid,
        "node": node,
        **ranked[chosen],
        "runners_up": [ranked[index] for index in runners_up],
        "conflicts": conflicts,
    }
