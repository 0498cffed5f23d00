"""Users ask hosts a question of their own."""

from typing import Any

import pytest

from scheduler.filters.json_filter import JsonFilter
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf


@pytest.mark.parametrize(
    ("hints", "passes"),
    [
        ({}, True),
        ({"query": ""}, True),
        ({"query": '[">=", "$free_ram_mb", 1024]'}, True),
        ({"query": ['[">=", "$free_ram_mb", 1024000]']}, False),
        ({"query": '["=", "$host", "host1"]'}, True),
        ({"query": '["=", "$stats.rack", "7"]'}, True),
        ({"query": '["=", "$service.disabled", false]'}, True),
        ({"query": '["=", "$service.disabled", true]'}, False),
        ({"query": '["and", ["=", "$service.host", "host1"], "$service.up"]'}, True),
        ({"query": '["=", "$secret", 1]'}, False),
        ({"query": "nonsense"}, False),
    ],
)
def test_a_host_passes_when_the_question_holds(hints: dict[str, Any], passes: bool) -> None:
    """A missing query always holds; an invalid one never does."""
    state = a_table([a_host(stats={"rack": "7"})])[0]
    each = JsonFilter(scheduling_conf())
    assert each.host_passes(state, a_request_spec(scheduler_hints=hints)) is passes


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("nonsense", "Invalid input: the hint query: it is not JSON"),
        ('["="]', "does not match the query in the hint"),
    ],
)
def test_the_reason_tells_a_no_from_a_mistake(query: str, reason: str) -> None:
    spec = a_request_spec(scheduler_hints={"query": query})
    assert JsonFilter(scheduling_conf()).explain(a_table([a_host()])[0], spec) == reason


def test_each_host_is_evaluated_by_its_own_service() -> None:
    """Hosts that differ in nothing else, too."""
    spec = a_request_spec(scheduler_hints={"query": '["=", "$service.disabled", true]'})
    hosts = a_table([a_host("a"), a_host("b", service_disabled=True)])
    assert JsonFilter(scheduling_conf()).host_mask(hosts, spec).tolist() == [False, True]
