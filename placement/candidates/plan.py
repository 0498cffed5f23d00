"""All ways to serve the demands in trees of one kind, computed lazily, and their candidates."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from placement.candidates.problem import Problem
from placement.candidates.result import Batch
from placement.candidates.solver import Choice, Solver
from placement.providers.columns import Numbers, Rows

Pattern = tuple[int, ...]
"""For each demand the slot that serves it; slots are the distinct providers of a candidate."""

Picks = Sequence[tuple[int, int]]
"""For each class of equal items: how many exist, and how many of them are taken."""

_CHOICES_AT_A_TIME = 64
_WHOLE_MAX = 2**62


@dataclass(frozen=True)
class Ways:
    """n ways: ``nodes`` (n, demands) serve the demands, of pattern ``patterns[which[i]]`` each."""

    nodes: Rows
    which: Numbers
    patterns: Sequence[Pattern]


class Plan:
    """Ways in order: some solutions, then those with equal leaves exchanged, then more solutions.

    A few solutions make many ways, so the solver is asked for a few at a time.
    """

    def __init__(self, solver: Solver) -> None:
        self._twins = _Twins(solver.twins_before)
        self._source = solver.choices()
        self._choices: list[Choice] = []
        self._total = 0
        self._is_complete = False
        self._ways = Ways(np.empty((0, 0), np.intp), np.empty(0, np.int64), ())

    def count(self, most: int | None = None) -> int:
        """Return the number of ways, searching for at most ``most``."""
        while not self._is_complete and (most is None or self._total < most):
            found = [*itertools.islice(self._source, _CHOICES_AT_A_TIME)]
            self._is_complete = len(found) < _CHOICES_AT_A_TIME
            self._choices.extend(found)
            self._total += sum(count_arrangements(self._twins.picks(choice)) for choice in found)
        return self._total if most is None else min(most, self._total)

    def first(self, count: int) -> Ways:
        """Return the first ways, at most as many as were counted."""
        if len(self._ways.nodes) < count:
            self._ways = self._make(count)
        ways = self._ways
        return Ways(ways.nodes[:count], ways.which[:count], ways.patterns)

    def _make(self, count: int) -> Ways:
        patterns: dict[Pattern, int] = {}
        nodes: list[Rows] = []
        which: list[Numbers] = []
        missing = count
        for start in range(0, len(self._choices), _CHOICES_AT_A_TIME):
            choices = self._choices[start : start + _CHOICES_AT_A_TIME]
            numbers = [patterns.setdefault(_pattern(way), len(patterns)) for way in choices]
            nodes.append(np.array(choices, np.intp))
            which.append(np.array(numbers, np.int64))
            missing -= len(choices)
            for choice, number in zip(choices, numbers, strict=True):
                if missing <= 0:
                    return Ways(np.concatenate(nodes), np.concatenate(which), [*patterns])
                nodes.append(self._twins.exchanged(choice, missing))
                which.append(np.full(len(nodes[-1]), number))
                missing -= len(nodes[-1])
        return Ways(np.concatenate(nodes), np.concatenate(which), [*patterns])


class _Twins:
    """The classes of equal leaves of a kind, and their exchanges."""

    def __init__(self, twins_before: Sequence[int]) -> None:
        self._class_of: list[int] = []
        self._members: list[list[int]] = []
        for at, twin in enumerate(twins_before):
            if twin < 0:
                self._members.append([])
            self._members[-1].append(at)
            self._class_of.append(len(self._members) - 1)

    def picks(self, choice: Choice) -> list[tuple[int, int]]:
        """Return for each class that a choice uses its size, and how many are used."""
        used = self._used(choice)
        return [(len(self._members[number]), len(nodes)) for number, nodes in used.items()]

    def exchanged(self, choice: Choice, most: int) -> Rows:
        """Return the choices that differ from this one by an exchange, (n, demands)."""
        picks = self.picks(choice)
        count = min(most + 1, count_arrangements(picks))
        found = np.empty((count, len(choice)), np.intp)
        ways = first_arrangements(picks, count)
        for (number, nodes), arranged in zip(self._used(choice).items(), ways, strict=True):
            members = np.array(self._members[number], np.intp)
            for demand, node in enumerate(choice):
                if self._class_of[node] == number:
                    found[:, demand] = members[arranged[:, nodes.index(node)]]
        return found[1:]

    def _used(self, choice: Choice) -> dict[int, list[int]]:
        """Return class -> its used nodes, in order."""
        used: dict[int, list[int]] = {}
        for node in sorted(set(choice)):
            used.setdefault(self._class_of[node], []).append(node)
        return used


def _pattern(choice: Choice) -> Pattern:
    slots: dict[int, int] = {}
    return tuple(slots.setdefault(node, len(slots)) for node in choice)


# Candidates: batches whose demands share providers in the same pattern ----------------------------


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


# Arrangements: ordered selections from equal items, as rows of an array --------------------------


def count_arrangements(picks: Picks) -> int:
    """Return the number of arrangements over all classes."""
    return math.prod(math.perm(there, taken) for there, taken in picks)


def first_arrangements(picks: Picks, count: int) -> list[Numbers]:
    """Return the first arrangements in lexicographic order: per class an array (count, taken).

    The very first one takes the items in their given order.
    """
    size = count_arrangements(picks)
    numbers = np.arange(count, dtype=np.int64)
    found = []
    for there, taken in picks:
        size //= math.perm(there, taken)
        mine, numbers = _divided(numbers, size)
        found.append(_arranged(there, taken, mine))
    return found


def _arranged(there: int, taken: int, numbers: Numbers) -> Numbers:
    """Return the arrangements with these numbers within one class."""
    digits = np.empty((len(numbers), taken), np.int64)
    for at in range(taken):
        block = math.perm(there - at - 1, taken - at - 1)
        digits[:, at], numbers = _divided(numbers, block)
    for at in range(taken - 2, -1, -1):  # a digit counts only items that are not taken yet
        later = digits[:, at + 1 :]
        later += later >= digits[:, at : at + 1]
    return digits


def _divided(numbers: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """Return quotient and remainder; no number reaches a size that needs more than 64 bits."""
    if size > _WHOLE_MAX:
        return np.zeros_like(numbers), numbers
    return numbers // size, numbers % size
