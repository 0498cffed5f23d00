"""To where other servers are, or away from them."""

from typing import Any

import pytest

from scheduler.filters.affinity.different_host_filter import DifferentHostFilter
from scheduler.filters.affinity.same_host_filter import SameHostFilter
from tests.builders import a_uuid
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf

HERE, ELSEWHERE = a_uuid(), a_uuid()


@pytest.mark.parametrize(
    ("hint", "same", "different"),
    [
        (None, True, True),
        ([], True, True),
        ([HERE], True, False),
        (HERE, True, False),
        ([ELSEWHERE], False, True),
        ([ELSEWHERE, HERE], True, False),
    ],
    ids=["none", "empty", "list", "text", "unknown", "one of two"],
)
def test_any_of_the_named_servers_decides(hint: Any, same: bool, different: bool) -> None:
    """As a text or as a list; servers that run nowhere are on no host."""
    state = a_table([a_host(instance_uuids=[HERE])])[0]
    hints = {} if hint is None else {"same_host": hint, "different_host": hint}
    spec = a_request_spec(scheduler_hints=hints)
    assert SameHostFilter(scheduling_conf()).host_passes(state, spec) is same
    assert DifferentHostFilter(scheduling_conf()).host_passes(state, spec) is different
