"""Batches of candidates whose demands share providers in the same pattern."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from placement.candidates.plan import Pattern, Ways
from placement.candidates.problem import Problem
from placement.candidates.result import Batch
from placement.providers.columns import Rows


def batches_of(
    problem: Problem, ways: Ways, way: Rows, anchors: Rows, rows: Rows, tree: Rows
) -> Iterator[Batch]:
    """Yield n candidates: number i is ``way[i]`` in a tree with the providers ``rows[tree[i]]``.

    ``anchors`` (n,) are their roots.
    """
    which = ways.which[way]
    for number in np.unique(which).tolist():
        mine = slice(None) if len(ways.patterns) == 1 else np.flatnonzero(which == number)
        pattern = ways.patterns[number]
        nodes = ways.nodes[way[mine]][:, _first_demands(pattern)]
        yield Batch(
            anchors[mine],
            rows[tree[mine][:, np.newaxis], nodes],
            _resources(problem, pattern),
            _mappings(problem, pattern),
        )


def _first_demands(pattern: Pattern) -> list[int]:
    """Return for each slot one demand that it serves."""
    return [pattern.index(slot) for slot in range(max(pattern) + 1)]


def _resources(problem: Problem, pattern: Pattern) -> tuple[dict[str, int], ...]:
    sums: list[Counter[str]] = [Counter() for _ in range(max(pattern) + 1)]
    for slot, demand in zip(pattern, problem.demands, strict=True):
        sums[slot].update(demand.resources)
    return tuple(dict(resources) for resources in sums)


def _mappings(problem: Problem, pattern: Pattern) -> dict[str, tuple[int, ...]]:
    slots: dict[str, dict[int, None]] = {}
    for slot, demand in zip(pattern, problem.demands, strict=True):
        slots.setdefault(demand.suffix, {})[slot] = None
    return {suffix: tuple(found) for suffix, found in slots.items()}
