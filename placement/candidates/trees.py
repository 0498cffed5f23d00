"""Candidates where providers stand in trees, or share: by whole trees that are alike."""

from __future__ import annotations

import numpy as np

from placement.candidates.entries import Entries, gather, may_have_enough
from placement.candidates.funnel import Funnel, Reach
from placement.candidates.harvest import Harvest
from placement.candidates.lent import LentHarvest
from placement.candidates.problem import Problem
from placement.candidates.result import Batch, Found
from placement.candidates.servers import Servers, find_servers
from placement.candidates.solver import Patience
from placement.candidates.strategy import Strategy
from placement.columns import Mask, Rows
from placement.provider_table import ProviderTable
from placement.query import Query


def find(
    table: ProviderTable, query: Query, problem: Problem, reach: Reach, strategy: Strategy
) -> Found:
    """Return the candidates of any table."""
    funnel = Funnel(table, reach)
    servers = find_servers(table, query, problem, funnel)
    entries = gather(table, servers)
    limit = strategy.limit(query.limit)
    is_lent = table.sharing.is_shared(table.size)

    owning = _promising(table, problem, servers, entries, _has_own(entries, is_lent))
    patience = Patience()
    harvest = Harvest(table, problem, servers, owning, strategy, patience)
    batches = harvest.gather(limit)
    fruitful = [harvest.fruitful]

    missing = _missing(limit, batches, strategy)
    if len(table.sharing.anchors) and missing != 0:
        lent = entries.without(~is_lent)
        lent = _promising(table, problem, servers, lent, np.ones(len(lent.anchors), np.bool_))
        lent_harvest = LentHarvest(table, problem, servers, lent, strategy, patience)
        batches += lent_harvest.gather(missing)
        fruitful.append(lent_harvest.fruitful)

    found = Found(_sample(batches, limit, strategy), funnel.providers_total, funnel.ruled_out)
    if limit is None or found.count < limit:
        _count_fruitless(table, problem, funnel, np.concatenate(fruitful))
    return found


def _promising(
    table: ProviderTable, problem: Problem, servers: Servers, entries: Entries, trees: Mask
) -> Entries:
    enough = may_have_enough(table, problem, servers, entries)
    return entries.only(np.flatnonzero(trees & enough))


def _has_own(entries: Entries, is_lent: Mask) -> Mask:
    """Tell which trees have a provider that is of this tree alone."""
    return entries.count_by_tree(~is_lent[entries.rows]) > 0


def _missing(limit: int | None, batches: list[Batch], strategy: Strategy) -> int | None:
    """Return how many candidates are wanted yet; dice choose among all sorts of them later."""
    if limit is None or strategy.dice is not None:
        return limit
    return limit - sum(map(len, batches))


def _sample(batches: list[Batch], limit: int | None, strategy: Strategy) -> list[Batch]:
    total = sum(map(len, batches))
    if strategy.dice is None or limit is None or total <= limit:
        return batches
    chosen = np.zeros(total, np.bool_)
    chosen[strategy.dice.choice(total, limit, replace=False)] = True
    found, start = [], 0
    for batch in batches:
        mine = np.flatnonzero(chosen[start : start + len(batch)])
        start += len(batch)
        if len(mine):
            found.append(batch.only(mine))
    return found


def _count_fruitless(
    table: ProviderTable, problem: Problem, funnel: Funnel, fruitful: Rows
) -> None:
    """Count the trees that have a server for each demand, and yet no way to serve all at once."""
    trees = np.zeros(table.size, np.bool_)
    trees[fruitful] = True
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
