"""Away from other servers."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.filters.different_host_filter import DifferentHostFilter
from tests.builders import a_uuid
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf

HERE, ELSEWHERE = a_uuid(), a_uuid()


@pytest.mark.parametrize(
    ("hint", "passes"),
    [
        (None, True),
        ([], True),
        ([HERE], False),
        (HERE, False),
        ([ELSEWHERE], True),
        ([ELSEWHERE, HERE], False),
    ],
    ids=["none", "empty", "list", "text", "unknown", "one of two"],
)
def test_a_host_without_the_named_servers_passes(hint: Any, passes: bool) -> None:
    """As a text or as a list; a server that runs nowhere rules nothing out."""
    hints = {} if hint is None else {"different_host": hint}
    state = a_table([a_host(instance_uuids=[HERE])])[0]
    each = DifferentHostFilter(scheduling_conf())
    assert each.host_passes(state, a_request_spec(scheduler_hints=hints)) is passes
