"""Candidates of single providers without trees, by array operations over the whole table."""

import numpy as np

from placement.candidates import conditions
from placement.candidates.funnel import Funnel, Reach
from placement.candidates.problem import Problem, key_of
from placement.candidates.query import Query
from placement.candidates.result import Batch, Found
from placement.candidates.strategy import Strategy
from placement.providers.columns import Rows
from placement.providers.provider_table import ProviderTable


def find(
    table: ProviderTable, query: Query, problem: Problem, reach: Reach, strategy: Strategy
) -> Found:
    """Return the candidates of a table without trees and sharing: one provider serves all."""
    funnel = Funnel(table, reach)
    _keep_fitting(table, query, problem, funnel)
    limit = strategy.limit(query.limit)
    rows = _chosen(np.flatnonzero(funnel.remaining), limit, strategy.rng)
    return Found([batch_of(rows, rows, problem)], funnel.providers_total, funnel.ruled_out)


def batch_of(anchors: Rows, rows: Rows, problem: Problem) -> Batch:
    """Return a batch of candidates with one provider each."""
    mappings = {demand.suffix: (0,) for demand in problem.demands}
    return Batch(anchors, rows[:, np.newaxis], (problem.totals,), mappings)


def is_possible(problem: Problem) -> bool:
    """Return whether one provider may serve everything."""
    return not problem.is_isolated or len(problem.numbered) < 2


def _keep_fitting(table: ProviderTable, query: Query, problem: Problem, funnel: Funnel) -> None:
    for condition in conditions.of_root(table, query):
        funnel.keep(funnel.remaining, condition)
    seen = set()
    for group in query.groups:
        key = key_of(group, group.resources)
        if key not in seen:
            seen.add(key)
            for condition in conditions.of_single_provider(table, group):
                funnel.keep(funnel.remaining, condition)
    for name in problem.contested:
        for condition in conditions.of_total(table, name, problem.totals[name]):
            funnel.keep(funnel.remaining, condition)
    if not is_possible(problem):
        funnel.keep_trees("group_policy", "isolate", np.zeros(table.size, np.bool_))


def _chosen(rows: Rows, limit: int | None, rng: np.random.Generator | None) -> Rows:
    if rng is not None:
        return rng.permutation(rows)[:limit]
    return rows[:limit]
