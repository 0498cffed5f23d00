"""Nothing is ruled out."""

from scheduler.filters.all_hosts_filter import AllHostsFilter
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf


def test_a_host_that_is_down_passes_too() -> None:
    """Placement alone decides."""
    state = a_table([a_host(service_up=False)])[0]
    assert AllHostsFilter(scheduling_conf()).host_passes(state, a_request_spec())
