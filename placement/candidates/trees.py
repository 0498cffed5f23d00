"""Candidates of nested and sharing providers, computed per kind of tree."""

import numpy as np

from placement.candidates.collector import Collector
from placement.candidates.eligible import Eligible, find_eligible
from placement.candidates.entries import Entries, gather, may_have_enough
from placement.candidates.funnel import Funnel, Reach
from placement.candidates.problem import Problem
from placement.candidates.query import Query
from placement.candidates.result import Batch, Found
from placement.candidates.sharing_only import SharingOnlyCollector
from placement.candidates.solver import SearchBudget
from placement.candidates.strategy import Strategy
from placement.providers.columns import Mask, Rows
from placement.providers.provider_table import ProviderTable


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
    budget = SearchBudget()
    harvest = Collector(table, problem, eligible, owning, strategy, budget)
    batches = harvest.gather(limit)
    productive_roots = [harvest.productive_roots]

    missing = _missing(limit, batches, strategy)
    if len(table.sharing.anchors) and missing != 0:
        lent = entries.without(~is_sharing)
        lent = _promising(table, problem, eligible, lent, np.ones(len(lent.anchors), np.bool_))
        lent_harvest = SharingOnlyCollector(table, problem, eligible, lent, strategy, budget)
        batches += lent_harvest.gather(missing)
        productive_roots.append(lent_harvest.productive_roots)

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
    """Count the trees with eligible providers for each demand, but no way to serve all at once."""
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
    return " and ".join(reasons) or "the combination of what is asked"
