"""Backtracking search for all ways to serve the demands within one kind of tree.

Unused, equal leaves below the same provider are one choice: the first of them stands for all. So no
way is found again with equal devices exchanged, and no dead end is visited twice.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

import numpy as np

from armillary import exception
from placement.candidates.problem import Demand, Problem
from placement.candidates.tree_classes import TreeClass

Choice = tuple[int, ...]
"""For each demand the position of the node that serves it."""

_DEAD_ENDS_MAX = 100_000
_FREE_STEPS = 1000
_SUBSETS_OF_MAX = 5  # needs; if there are more, only each one and all together are checked

_ServersOf = Callable[[int], Sequence[int]]
_Used = tuple[tuple[int, ...], bool, bool]


class Solver:
    """Depth-first search. ``needs_own``: at least one provider must belong to this tree only."""

    def __init__(
        self,
        problem: Problem,
        kind: TreeClass,
        budget: SearchBudget,
        *,
        needs_own: bool = False,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.twins_before = _twins_before(kind)
        self._problem = problem
        self._nodes = kind.nodes
        self._needs_own = needs_own
        self._eligible = _eligible(problem, kind)
        self._order = self._best_order()
        self._demands = [problem.demands[at] for at in self._order]
        self._amounts = [_amounts(problem, demand) for demand in self._demands]
        self._subtrees = [_Subtree(kind, members) for members in problem.same_subtrees]
        self._lookahead = _Lookahead(problem, kind, self._demands)
        self._chosen = [-1] * len(self._order)
        self._load = [0] * len(kind.nodes)
        self._is_taken = [False] * len(kind.nodes)  # used by a group with a suffix
        self._room = [list(node.room) for node in kind.nodes]
        self._dead_ends: set[object] = set()
        self._budget = budget
        self._steps_in_vain = 0
        for eligible in self._eligible:
            if rng is not None:
                rng.shuffle(eligible)

    def choices(self) -> Iterator[Choice]:
        """Yield every way, except those that differ only by an exchange of equal leaves."""
        if self._lookahead.is_open(0, self._room):
            yield from self._serve(0)

    def _best_order(self) -> list[int]:
        """Return the demands: fewest providers first, then largest; equal ones adjacent."""
        demands = self._problem.demands
        return sorted(
            range(len(demands)),
            key=lambda at: (
                len(self._eligible[demands[at].need]),
                -sum(_amounts(self._problem, demands[at])),
                demands[at].need,
            ),
        )

    def _serve(self, depth: int) -> Generator[Choice, None, bool]:
        self._steps_in_vain += 1
        if self._steps_in_vain > _FREE_STEPS:
            self._budget.spend()
        if depth == len(self._order):
            if is_complete := self._is_complete():
                self._steps_in_vain = 0
                yield tuple(self._chosen)
            return is_complete
        state = self._state(depth) if self._dead_ends else None
        if state in self._dead_ends:
            return False
        has_found = False
        for node in self._eligible[self._demands[depth].need]:
            if self._may_take(depth, node):
                self._take(depth, node)
                if self._lookahead.is_open(depth + 1, self._room):
                    has_found |= yield from self._serve(depth + 1)
                self._give_back(depth, node)
        if not has_found and len(self._dead_ends) < _DEAD_ENDS_MAX:
            self._dead_ends.add(state or self._state(depth))
        return has_found

    def _may_take(self, depth: int, node: int) -> bool:
        if not self._load[node]:
            twin = self.twins_before[node]
            if twin >= 0 and not self._load[twin]:
                return False
            if not self._problem.is_nested and self._is_tree_in_use(node):
                return False
        if self._problem.is_isolated and self._is_taken[node] and self._demands[depth].suffix:
            return False
        for room, amount in zip(self._room[node], self._amounts[depth], strict=True):
            if room < amount:
                return False
        at = self._order[depth]
        return all(
            subtree.may_have(at, node, self._chosen, self._eligible_of)
            for subtree in self._subtrees
            if at in subtree.members
        )

    def _take(self, depth: int, node: int) -> None:
        self._chosen[self._order[depth]] = node
        self._load[node] += 1
        for at, amount in enumerate(self._amounts[depth]):
            self._room[node][at] -= amount
        if self._problem.is_isolated and self._demands[depth].suffix:
            self._is_taken[node] = True
            self._lookahead.take(node)

    def _give_back(self, depth: int, node: int) -> None:
        self._chosen[self._order[depth]] = -1
        self._load[node] -= 1
        for at, amount in enumerate(self._amounts[depth]):
            self._room[node][at] += amount
        if self._problem.is_isolated and self._demands[depth].suffix:
            self._is_taken[node] = False
            self._lookahead.give_back(node)

    def _is_complete(self) -> bool:
        if self._needs_own and not any(self._nodes[node].is_own for node in self._chosen):
            return False
        return self._traits() == (1 << self._problem.choices_of_traits) - 1

    def _traits(self) -> int:
        """Return the required traits that the providers of the group without suffix have."""
        if not self._problem.choices_of_traits:
            return 0
        return _union(
            self._nodes[node].traits
            for node, demand in zip(self._chosen, self._problem.demands, strict=True)
            if node >= 0 and not demand.suffix
        )

    def _is_tree_in_use(self, node: int) -> bool:
        tree = self._nodes[node].tree
        return any(
            load and self._nodes[other].tree == tree for other, load in enumerate(self._load)
        )

    def _eligible_of(self, at: int) -> Sequence[int]:
        return self._eligible[self._problem.demands[at].need]

    def _state(self, depth: int) -> object:
        """Return all that the rest of the search depends on, equal for exchanged twins."""
        used = [
            (tuple(room), taken, load > 0)
            for room, taken, load in zip(self._room, self._is_taken, self._load, strict=True)
        ]
        begun = [subtree.begun(self._chosen) for subtree in self._subtrees]
        if not any(begun):
            used = self._sorted_by_twins(used)
        return depth, self._traits(), tuple(used), tuple(begun)

    def _sorted_by_twins(self, used: list[_Used]) -> list[_Used]:
        found: list[_Used] = []
        first = 0
        for at in range(1, len(used) + 1):
            if at == len(used) or self.twins_before[at] < 0:
                found.extend(sorted(used[first:at]))
                first = at
        return found


class SearchBudget:
    """Search budget of one query: the number of unsuccessful steps, beyond a few free ones.

    Whether items of different sizes fit is a packing problem, which may take exponential time.
    """

    def __init__(self, steps: int = 30_000) -> None:
        self._steps = steps

    def spend(self) -> None:
        """Count a step. Raises ``InvalidResourceQuery`` when the budget is used up."""
        self._steps -= 1
        if self._steps < 0:
            raise exception.InvalidResourceQuery(
                reason="the search was stopped because too many combinations do not fit; request "
                "fewer groups, or more similar amounts"
            )


class _Subtree:
    """Demands whose providers must all be one of these providers or below it."""

    def __init__(self, kind: TreeClass, members: Sequence[int]) -> None:
        self.members = members
        self._paths = _paths(kind)

    def may_have(self, at: int, node: int, chosen: Sequence[int], eligible_of: _ServersOf) -> bool:
        """Return whether a common ancestor is still possible if ``node`` serves demand ``at``."""
        common, tops = self._paths[node], 1 << node
        for member in self.members:
            if member == at:
                continue
            if chosen[member] >= 0:
                common &= self._paths[chosen[member]]
                tops |= 1 << chosen[member]
            else:
                tops |= _union(1 << server for server in eligible_of(member))
        return bool(common & tops)

    def begun(self, chosen: Sequence[int]) -> Choice:
        """Return the chosen nodes while the choice is incomplete; else nothing."""
        mine = tuple(chosen[member] for member in self.members)
        return mine if min(mine) < 0 <= max(mine) else ()


def _eligible(problem: Problem, kind: TreeClass) -> list[list[int]]:
    return [
        [at for at, node in enumerate(kind.nodes) if node.needs >> need & 1]
        for need in range(len(problem.groups))
    ]


def _amounts(problem: Problem, demand: Demand) -> tuple[int, ...]:
    return tuple(demand.resources.get(name, 0) for name in problem.contested)


def _twins_before(kind: TreeClass) -> list[int]:
    """Return for each node the one before it if both are equal leaves, or -1."""
    inner = set(kind.above)
    return [
        at - 1
        if at
        and not {at, at - 1} & inner
        and kind.above[at] == kind.above[at - 1]
        and kind.nodes[at] == kind.nodes[at - 1]
        else -1
        for at in range(len(kind.nodes))
    ]


def _paths(kind: TreeClass) -> list[int]:
    """Return for each node the set of itself and its ancestors, as bits."""
    paths: list[int] = []
    for at in range(len(kind.nodes)):
        path, above = 1 << at, kind.above[at]
        while above >= 0:
            path |= 1 << above
            above = kind.above[above]
        paths.append(path)
    return paths


def _union(bits: Iterable[int]) -> int:
    return functools.reduce(operator.or_, bits, 0)


# Lookahead: pruning of a search that cannot succeed, by counting what is left ------------------


class _Lookahead:
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
