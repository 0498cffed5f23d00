"""To where other servers are."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.filters.same_host_filter import SameHostFilter
from tests.builders import a_uuid
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf

HERE, ELSEWHERE = a_uuid(), a_uuid()


@pytest.mark.parametrize(
    ("hint", "passes"),
    [
        (None, True),
        ([], True),
        ([HERE], True),
        (HERE, True),
        ([ELSEWHERE], False),
        ([ELSEWHERE, HERE], True),
    ],
    ids=["none", "empty", "list", "text", "unknown", "any of two"],
)
def test_a_host_with_any_of_the_named_servers_passes(hint: Any, passes: bool) -> None:
    """Any suffices, not all; servers that run nowhere leave no host."""
    hints = {} if hint is None else {"same_host": hint}
    state = a_table([a_host(instance_uuids=[HERE])])[0]
    each = SameHostFilter(scheduling_conf())
    assert each.host_passes(state, a_request_spec(scheduler_hints=hints)) is passes
