"""Allocation candidates, computed by array operations from the provider table and a query.

Pure: no database and no clock; the random source is passed in.
"""

from placement.candidates import flat, trees
from placement.candidates.funnel import Reach
from placement.candidates.problem import problem_of
from placement.candidates.query import Query
from placement.candidates.result import Found
from placement.candidates.strategy import DEFAULT, Strategy
from placement.providers.provider_table import ProviderTable


def find_candidates(table: ProviderTable, query: Query, strategy: Strategy = DEFAULT) -> Found:
    """Return the candidates: as many as requested, or as exist."""
    problem, reach = problem_of(query), Reach(table)
    find = flat.find if reach.is_flat else trees.find
    return find(table, query, problem, reach, strategy)
