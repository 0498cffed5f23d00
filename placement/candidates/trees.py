"""Candidates of nested and sharing providers, computed per kind of tree."""

from collections.abc import Iterator

import numpy as np

from placement.candidates.collector import Collector, Search
from placement.candidates.eligible import Eligible, find_eligible
from placement.candidates.entries import Entries, gather, may_have_enough
from placement.candidates.funnel import Funnel, Reach
from placement.candidates.plan import Plan, batches_of
from placement.candidates.problem import Problem
from placement.candidates.query import Query
from placement.candidates.result import Batch, Found
from placement.candidates.solver import SearchBudget, Solver
from placement.candidates.strategy import Strategy
from placement.providers.columns import Mask, Rows
from placement.providers.provider_table import ProviderTable


class SharingOnlyCollector:
    """Collect candidates of sharing providers; trees with the same ones are searched once."""

    def __init__(self, search: Search, entries: Entries) -> None:
        self._problem = search.problem
        self._entries = entries
        self._strategy = search.strategy
        self._budget = search.budget
        self._finder = search.classes()
        self._plans: list[Plan] = []
        self._same = _same_providers(entries)
        self._fruitful: list[Rows] = [np.empty(0, np.intp)]

    @property
    def productive_roots(self) -> Rows:
        """Roots of the trees with such candidates, possibly the same as of other trees."""
        return np.concatenate(self._fruitful)

    def gather(self, limit: int | None) -> list[Batch]:
        """Return candidates up to the limit."""
        batches: list[Batch] = []
        seen: set[tuple[int, ...]] = set()
        firsts = np.array([positions[0] for positions in self._same], np.intp)
        for positions, kinds, rows in self._finder.sort(self._entries.only(firsts)):
            for position, kind, providers in zip(positions.tolist(), kinds, rows, strict=True):
                if limit is not None and len(seen) >= limit:
                    return batches
                made = [*self._of_tree(firsts[position], kind, providers, seen, limit)]
                if made or self._plan(kind).count(1):
                    self._fruitful.append(self._entries.anchors[self._same[position]])
                batches.extend(made)
        return batches

    def _of_tree(
        self,
        position: int,
        kind: int,
        providers: Rows,
        seen: set[tuple[int, ...]],
        limit: int | None,
    ) -> Iterator[Batch]:
        plan = self._plan(kind)
        ways = plan.first(plan.count(None if limit is None else limit + len(seen)))
        fresh = []
        for way, candidate in enumerate(map(tuple, providers[ways.nodes].tolist())):
            if limit is not None and len(seen) >= limit:
                break
            if candidate not in seen:
                seen.add(candidate)
                fresh.append(way)
        if fresh:
            anchors = np.full(len(fresh), self._entries.anchors[position], np.intp)
            trees = np.zeros(len(fresh), np.intp)
            yield from batches_of(
                self._problem, ways, np.array(fresh, np.intp), anchors, providers[np.newaxis], trees
            )

    def _plan(self, kind: int) -> Plan:
        for found in self._finder.kinds[len(self._plans) :]:
            solver = Solver(self._problem, found, self._budget, rng=self._strategy.rng)
            self._plans.append(Plan(solver))
        return self._plans[kind]


def _same_providers(entries: Entries) -> list[Rows]:
    """Return positions of trees, grouped by equal providers."""
    trees = np.repeat(np.arange(len(entries.anchors)), entries.counts)
    rows = entries.rows[np.lexsort((entries.rows, trees))]
    found: list[Rows] = []
    for count in np.unique(entries.counts).tolist():
        positions = np.flatnonzero(entries.counts == count)
        sets = rows[entries.starts[positions][:, np.newaxis] + np.arange(count)]
        _, inverse = np.unique(sets, axis=0, return_inverse=True)
        order = np.argsort(inverse.reshape(-1), kind="stable")
        cuts = np.flatnonzero(np.diff(inverse.reshape(-1)[order])) + 1
        found.extend(np.split(positions[order], cuts))
    return found


def find(
    table: ProviderTable, query: Query, problem: Problem, reach: Reach, strategy: Strategy
) -> Found:
    """Return the candidates of any table."""
    funnel = Funnel(table, reach)
    eligible = find_eligible(table, query, problem, funnel)
    entries = gather(table, eligible)
    limit = strategy.limit(query.limit)
    is_sharing = table.sharing.is_shared(table.size)

    owning = _promising(table, problem, eligible, entries, _has_own(entries, is_sharing))
    search = Search(table, problem, eligible, strategy, SearchBudget())
    collector = Collector(search, owning)
    batches = collector.gather(limit)
    productive_roots = [collector.productive_roots]

    missing = _missing(limit, batches, strategy)
    if len(table.sharing.anchors) and missing != 0:
        sharing_only = entries.without(~is_sharing)
        sharing_only = _promising(
            table, problem, eligible, sharing_only, np.ones(len(sharing_only.anchors), np.bool_)
        )
        sharing_collector = SharingOnlyCollector(search, sharing_only)
        batches += sharing_collector.gather(missing)
        productive_roots.append(sharing_collector.productive_roots)

    found = Found(_sample(batches, limit, strategy), funnel.providers_total, funnel.ruled_out)
    if limit is None or found.count < limit:
        _count_unproductive(table, problem, funnel, np.concatenate(productive_roots))
    return found


def _promising(
    table: ProviderTable, problem: Problem, eligible: Eligible, entries: Entries, trees: Mask
) -> Entries:
    enough = may_have_enough(table, problem, eligible, entries)
    return entries.only(np.flatnonzero(trees & enough))


def _has_own(entries: Entries, is_sharing: Mask) -> Mask:
    """Return which trees have a provider that belongs to this tree only."""
    return entries.count_by_tree(~is_sharing[entries.rows]) > 0


def _missing(limit: int | None, batches: list[Batch], strategy: Strategy) -> int | None:
    """Return how many more candidates are needed; if random, all kinds are sampled later."""
    if limit is None or strategy.rng is not None:
        return limit
    return limit - sum(map(len, batches))


def _sample(batches: list[Batch], limit: int | None, strategy: Strategy) -> list[Batch]:
    total = sum(map(len, batches))
    if strategy.rng is None or limit is None or total <= limit:
        return batches
    chosen = np.zeros(total, np.bool_)
    chosen[strategy.rng.choice(total, limit, replace=False)] = True
    found, start = [], 0
    for batch in batches:
        mine = np.flatnonzero(chosen[start : start + len(batch)])
        start += len(batch)
        if len(mine):
            found.append(batch.only(mine))
    return found


def _count_unproductive(
    table: ProviderTable, problem: Problem, funnel: Funnel, productive_roots: Rows
) -> None:
    """Count the trees with eligible providers for each demand, but no way to serve all together."""
    trees = np.zeros(table.size, np.bool_)
    trees[productive_roots] = True
    funnel.keep_trees("combination", _what_combines(problem), trees)


def _what_combines(problem: Problem) -> str:
    reasons = []
    if problem.is_isolated and len(problem.numbered) > 1:
        reasons.append("group_policy=isolate")
    if problem.same_subtrees:
        reasons.append("same_subtree")
    if problem.contested:
        reasons.append(f"the sum of {', '.join(problem.contested)}")
    return " and ".join(reasons) or "the combination of the requested groups"
