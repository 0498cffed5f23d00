"""The candidates engine answers what the slow and obvious way does, for any forest and question."""

from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from armillary import exception
from objects.allocations.resource_query import ResourceQuery
from placement.candidates import find_candidates
from placement.candidates import query as queries
from placement.candidates.strategy import Strategy
from tests.fixtures.placement.placement_fleets import PROVIDERS, PlannedProvider, fleets, questions
from tests.fixtures.placement.placement_rows import TrueProvider
from tests.fixtures.placement.placement_tables import a_table, candidates_of
from tests.fixtures.placement.placement_truth import true_candidates
from tests.fixtures.plugins.examples import examples

strategies = st.builds(
    Strategy,
    is_breadth_first=st.booleans(),
    candidates_max=st.sampled_from([None, None, 2]),
    rng=st.sampled_from([None, 1, 2]).map(lambda seed: seed and np.random.default_rng(seed)),
)


@st.composite
def forests(draw: st.DrawFn) -> dict[str, TrueProvider]:
    """Draw providers with some usage, in random order of their rows."""
    found: dict[str, TrueProvider] = {}
    planned: list[PlannedProvider] = draw(fleets())
    for uuid, item in zip(PROVIDERS, planned, strict=False):
        parent = None if item.parent is None else PROVIDERS[item.parent]
        made = TrueProvider(uuid, parent=parent, root=found[parent].root if parent else uuid)
        made.inventories = item.inventories
        made.traits, made.aggregates = {*item.traits}, {*item.aggregates}
        made.used = Counter({name: draw(st.integers(0, 4)) for name in item.inventories})
        found[uuid] = made
    return {uuid: found[uuid] for uuid in draw(st.permutations([*found]))}


@given(forests(), questions(), strategies)
@settings(max_examples=examples(250), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_answer_is_the_truth(
    providers: dict[str, TrueProvider], question: ResourceQuery, strategy: Strategy
) -> None:
    """All candidates, or as many of them as are wanted; each once, whatever the order."""
    try:
        query = queries.parse(question)
    except exception.InvalidResourceQuery:
        return
    table = a_table(providers)
    expected = true_candidates(providers, question)
    found = find_candidates(table, query, strategy)
    answer = candidates_of(table, found)
    limit = strategy.limit(query.limit)
    assert len(answer) == len({*answer}), "a candidate is there twice"
    assert {*answer} <= expected
    wanted = len(expected) if limit is None else min(limit, len(expected))
    assert len(answer) == wanted
    unlimited = find_candidates(table, replace(query, limit=None))
    assert {*candidates_of(table, unlimited)} == expected
    trees = {item.root for item in providers.values() if item.inventories}
    assert unlimited.providers_total == len(trees)
    assert sum(entry.count for entry in unlimited.ruled_out) <= len(trees)
