"""Pruning of a search that cannot succeed, by counting what is left."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from placement.candidates.problem import Demand, Problem
from placement.candidates.tree_classes import TreeClass

_SUBSETS_OF_MAX = 5  # needs; if there are more, only each one and all together are checked


class Lookahead:
    """Count eligible providers and free capacity for the demands from a depth on.

    ``demands`` are in search order. Isolated groups need as many providers as there are groups, and
    so does each subset of them: if that holds for every subset, a solution exists (Hall's theorem).
    """

    def __init__(self, problem: Problem, kind: TreeClass, demands: Sequence[Demand]) -> None:
        self._nodes = kind.nodes
        self._untaken = Counter(node.needs for node in kind.nodes)
        self._is_isolated = problem.is_isolated
        depths = range(len(demands) + 1)
        self._parts = [_parts(demands[depth:]) if problem.is_isolated else [] for depth in depths]
        self._portions = [_portions(problem, demands[depth:]) for depth in depths]

    def take(self, node: int) -> None:
        """Record that a group with a suffix uses a node."""
        self._untaken[self._nodes[node].needs] -= 1

    def give_back(self, node: int) -> None:
        self._untaken[self._nodes[node].needs] += 1

    def is_open(self, depth: int, room: Sequence[Sequence[int]]) -> bool:
        """Return whether the remaining demands may be served."""
        for needs, count in self._parts[depth]:
            eligible = sum(some for served, some in self._untaken.items() if served & needs)
            if eligible < count:
                return False
        return self._has_portions(depth, room)

    def _has_portions(self, depth: int, room: Sequence[Sequence[int]]) -> bool:
        need, count, amounts = self._portions[depth]
        if not amounts:
            return True
        for at, node in enumerate(self._nodes):
            if node.needs >> need & 1:
                count -= min(max(0, room[at][index]) // amount for index, amount in amounts)
                if count <= 0:
                    return True
        return False


def _parts(rest: Sequence[Demand]) -> list[tuple[int, int]]:
    """Return sets of needs, and the number of providers that groups with a suffix need for each."""
    counts = Counter(demand.need for demand in rest if demand.suffix)
    sizes = range(1, len(counts) + 1)
    if len(counts) > _SUBSETS_OF_MAX:
        sizes = range(1, len(counts) + 1, len(counts) - 1)
    return [
        (sum(1 << need for need in needs), sum(counts[need] for need in needs))
        for size in sizes
        for needs in itertools.combinations(counts, size)
    ]


def _portions(
    problem: Problem, rest: Sequence[Demand]
) -> tuple[int, int, tuple[tuple[int, int], ...]]:
    """Return the next need, its number of demands, and its amounts of contested classes.

    Without amounts if there is nothing to count; classes are positions among the contested ones.
    """
    if not rest:
        return 0, 0, ()
    need = rest[0].need
    resources = rest[0].resources
    amounts = tuple(
        (at, resources[name]) for at, name in enumerate(problem.contested) if name in resources
    )
    return need, sum(1 for demand in rest if demand.need == need), amounts
