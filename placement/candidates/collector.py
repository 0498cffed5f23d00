"""Collection of candidates from trees, in the order of the generation strategy."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from placement.candidates import flat
from placement.candidates.eligible import Eligible
from placement.candidates.entries import Entries
from placement.candidates.plan import Plan, Ways, batches_of
from placement.candidates.problem import Problem
from placement.candidates.result import Batch
from placement.candidates.solver import SearchBudget, Solver
from placement.candidates.strategy import Strategy
from placement.candidates.tree_classes import TreeClassFinder
from placement.ledger import feasibility
from placement.providers.columns import Mask, Numbers, Rows
from placement.providers.provider_table import ProviderTable

_FIRST_CHUNK_TREES = 256
_CHUNK_GROWTH = 4
_ALONE = -1  # instead of a kind: one provider serves everything, or none does
_SAMPLE_WAYS = 64  # if trees are random, each takes one of these at random
_SHIFT_MAX = 2**31


@dataclass(frozen=True, slots=True)
class Search:
    """What a search in trees works on, and within which limits."""

    table: ProviderTable
    problem: Problem
    eligible: Eligible
    strategy: Strategy
    budget: SearchBudget

    def classes(self) -> TreeClassFinder:
        """Return a finder of the kinds of trees, none found yet."""
        return TreeClassFinder(self.table, self.problem, self.eligible, self.strategy.rng)


class Collector:
    """Collect candidates from trees in order; a tree is examined only when it is reached."""

    def __init__(self, search: Search, entries: Entries) -> None:
        self._problem = search.problem
        self._strategy = search.strategy
        self._budget = search.budget
        self._shifts: Numbers | None = None  # the first way that each tree takes
        if (rng := search.strategy.rng) is not None:
            entries = entries.only(rng.permutation(len(entries.anchors)))
            self._shifts = rng.integers(0, _SHIFT_MAX, len(entries.anchors))
        self._entries = entries
        self._finder = search.classes()
        self._plans: list[Plan] = []
        self._stock: list[list[tuple[Rows, Rows]]] = []  # kind -> trees and their providers
        self._kinds: Numbers = np.full(len(entries.anchors), _ALONE, np.int64)
        self._alone = _serve_alone(search.table, search.problem, entries)
        self._seen = 0
        self._takes: Numbers = np.zeros(len(entries.anchors), np.int64)

    @property
    def productive_roots(self) -> Rows:
        """Roots of the trees that gave candidates."""
        return self._entries.anchors[self._takes > 0]

    def gather(self, limit: int | None) -> list[Batch]:
        """Return candidates up to the limit."""
        if limit is None:
            self._look_at(len(self._kinds))
            self._takes = self._counts(None)
        elif self._strategy.is_breadth_first:
            self._take_in_turn(limit)
        else:
            self._take_whole_trees(limit)
        return self._batches()

    def _take_whole_trees(self, limit: int) -> None:
        remaining = limit
        for at in range(len(self._kinds)):
            if at == self._seen:
                self._look_at(max(_FIRST_CHUNK_TREES, at * _CHUNK_GROWTH))
            take = self._count(at, remaining)
            self._takes[at] = take
            remaining -= take
            if not remaining:
                return

    def _take_in_turn(self, limit: int) -> None:
        """Take one of each tree, then a second one of each, and so on."""
        given = 0
        for at in range(len(self._kinds)):
            if at == self._seen:
                self._look_at(max(_FIRST_CHUNK_TREES, at * _CHUNK_GROWTH))
            self._takes[at] = self._count(at, 1)
            given += int(self._takes[at])
            if given == limit:
                return
        rounds, counts = 1, self._takes
        while given < limit and (counts >= rounds).any():
            rounds *= 2
            counts = self._counts(rounds)
            given = int(counts.sum())
        while rounds > 1 and int(np.minimum(counts, rounds - 1).sum()) >= limit:
            rounds -= 1
        self._takes = np.minimum(counts, rounds - 1)
        rest = limit - int(self._takes.sum())
        self._takes[np.flatnonzero(counts >= rounds)[:rest]] += 1

    def _look_at(self, end: int) -> None:
        """Find the kinds of the trees up to ``end``."""
        end = min(end, len(self._kinds))
        chunk = np.arange(self._seen, end)
        self._seen = end
        several = chunk[self._entries.counts[chunk] > 1]
        for positions, numbers, rows in self._finder.sort(self._entries.only(several)):
            kinds = np.array(numbers, np.int64)
            self._kinds[several[positions]] = kinds
            self._make_plans()
            for kind in np.unique(kinds).tolist():
                mine = kinds == kind
                self._stock[kind].append((several[positions[mine]], rows[mine]))

    def _make_plans(self) -> None:
        for kind in self._finder.kinds[len(self._plans) :]:
            solver = Solver(
                self._problem, kind, self._budget, needs_own=True, rng=self._strategy.rng
            )
            self._plans.append(Plan(solver))
            self._stock.append([])

    def _count(self, at: int, most: int) -> int:
        kind = int(self._kinds[at])
        return int(self._alone[at]) if kind == _ALONE else self._plans[kind].count(most)

    def _counts(self, most: int | None) -> Numbers:
        """Return the number of candidates of each tree, at most ``most``."""
        by_kind = np.array([*(plan.count(most) for plan in self._plans), 0], np.int64)
        alone = self._alone.astype(np.int64)
        counts: Numbers = np.where(self._kinds == _ALONE, alone, by_kind[self._kinds])
        return counts

    def _batches(self) -> list[Batch]:
        alone = np.flatnonzero((self._kinds == _ALONE) & (self._takes > 0))
        made: list[tuple[int, Batch]] = []
        if len(alone):
            rows = self._entries.rows[self._entries.starts[alone]]
            made.append((0, flat.batch_of(self._entries.anchors[alone], rows, self._problem)))
        for plan, stock in zip(self._plans, self._stock, strict=True):
            trees = np.concatenate([trees for trees, _ in stock])
            rows = np.concatenate([rows for _, rows in stock])
            ways = self._known_ways(plan, int(self._takes[trees].max()))
            for first, end, mine in self._cuts(self._takes[trees]):
                some = np.arange(first, end)
                batches = self._batches_of_kind(ways, some, trees[mine], rows[mine])
                made.extend((first, batch) for batch in batches)
        made.sort(key=lambda item: item[0])
        return [batch for _, batch in made]

    def _cuts(self, takes: Numbers) -> Iterator[tuple[int, int, Mask]]:
        """Yield which ways to take together, from the first to the end, and in which trees.

        Depth-first takes whole trees, then the part of the tree that the limit cuts. Breadth-first
        takes the first way of each tree, then further ones, more of some trees than of others.
        """
        ends = np.unique(takes[takes > 0]).tolist()
        if not self._strategy.is_breadth_first:
            for end in reversed(ends):
                yield 0, end, takes == end
            return
        for first, end in itertools.pairwise([0, *sorted({1, *ends})] if ends else []):
            yield first, end, takes >= end

    def _known_ways(self, plan: Plan, most: int) -> Ways:
        """Return the ways from which each tree takes some; more than needed, if random."""
        if self._strategy.rng is None or not most:
            return plan.first(most)
        return plan.first(plan.count(max(most, _SAMPLE_WAYS)))

    def _batches_of_kind(self, ways: Ways, some: Rows, trees: Rows, rows: Rows) -> Iterator[Batch]:
        """Yield the candidates of trees with these providers, for the ways with some numbers."""
        if self._strategy.is_breadth_first:
            way, tree = np.repeat(some, len(trees)), np.tile(np.arange(len(trees)), len(some))
        else:
            way, tree = np.tile(some, len(trees)), np.repeat(np.arange(len(trees)), len(some))
        if self._shifts is not None:
            way = (way + self._shifts[trees[tree]]) % len(ways.nodes)
        yield from batches_of(
            self._problem, ways, way, self._entries.anchors[trees[tree]], rows, tree
        )


def _serve_alone(table: ProviderTable, problem: Problem, entries: Entries) -> Mask:
    """Return for each tree whether its only provider can serve everything, sums included."""
    if not flat.is_possible(problem):
        return np.zeros(len(entries.anchors), np.bool_)
    serves: Mask = entries.counts == 1
    rows = entries.rows[entries.starts]
    for name in problem.contested:
        serves &= problem.totals[name] <= feasibility.free(table.columns_of(name))[rows]
    return serves
