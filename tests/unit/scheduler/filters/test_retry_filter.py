"""Not to a host that was tried."""

import pytest

from objects.request_spec import SchedulerRetries
from scheduler.filters.retry_filter import RetryFilter
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf


@pytest.mark.parametrize(
    ("tried", "passes"),
    [(None, True), ([], True), (["host2"], True), (["host2", "host1"], False)],
    ids=["no retry", "none", "others", "this one"],
)
def test_a_host_that_was_not_tried_passes(tried: list[str] | None, passes: bool) -> None:
    """Whatever the others were."""
    retry = None if tried is None else SchedulerRetries.from_values(num_attempts=1, hosts=tried)
    state = a_table([a_host()])[0]
    each = RetryFilter(scheduling_conf())
    assert each.host_passes(state, a_request_spec(retry=retry)) is passes
