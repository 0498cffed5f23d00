"""The version is the weight."""

from __future__ import annotations

from scheduler.weights.hypervisor_version_weigher import HypervisorVersionWeigher
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf


def test_newer_is_better() -> None:
    """An unknown version is 0."""
    weigher = HypervisorVersionWeigher(scheduling_conf())
    table = a_table([a_host(hypervisor_version=0), a_host("host2", hypervisor_version=7_001_002)])
    assert weigher.host_weights(table, a_request_spec()).tolist() == [0.0, 7_001_002.0]
    assert weigher.multipliers(table).tolist() == [1.0, 1.0]
