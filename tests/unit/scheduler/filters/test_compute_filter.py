"""A host needs a service that is enabled and up."""

import pytest

from scheduler.filters.compute_filter import ComputeFilter
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf


@pytest.mark.parametrize(
    ("up", "disabled", "reason"),
    [
        (True, False, None),
        (False, False, "its service is down"),
        (True, True, "its service is disabled"),
        (False, True, "its service is disabled"),
    ],
)
def test_only_an_enabled_service_that_is_up_passes(
    up: bool, disabled: bool, reason: str | None
) -> None:
    """The reason says which of the two it is."""
    each, spec = ComputeFilter(scheduling_conf()), a_request_spec()
    table = a_table([a_host(service_up=up, service_disabled=disabled)])
    state = table[0]
    assert each.host_passes(state, spec) is (reason is None)
    assert each.host_mask(table, spec).tolist() == [reason is None]
    if reason:
        assert each.explain(state, spec) == reason
