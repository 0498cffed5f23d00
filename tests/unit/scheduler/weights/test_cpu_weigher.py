"""Free vCPUs count with the allocation ratio."""

from scheduler.weights.cpu_weigher import CPUWeigher
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf


def test_free_vcpus_are_what_the_ratio_allows_less_what_is_used() -> None:
    """8 vCPUs at a ratio of 2, 5 used."""
    weigher = CPUWeigher(scheduling_conf())
    state = a_table([a_host(vcpus_total=8, cpu_allocation_ratio=2.0, vcpus_used=5)])[0]
    assert weigher.host_weight(state, a_request_spec()) == 11.0
