"""The candidates engine: from table and question to the candidates, by array operations.

Pure: no database, no clock, and the dice are the caller's.
"""

from __future__ import annotations

from placement.candidates import plain, trees
from placement.candidates.funnel import Reach
from placement.candidates.problem import problem_of
from placement.candidates.result import Found
from placement.candidates.strategy import DEFAULT, Strategy
from placement.provider_table import ProviderTable
from placement.query import Query


def find_candidates(table: ProviderTable, query: Query, strategy: Strategy = DEFAULT) -> Found:
    """Return the candidates: as many as are asked for, or as there are."""
    problem, reach = problem_of(query), Reach(table)
    find = plain.find if reach.is_plain else trees.find
    return find(table, query, problem, reach, strategy)
