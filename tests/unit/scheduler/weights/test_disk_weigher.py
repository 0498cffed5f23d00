"""Free disk is the weight."""

from __future__ import annotations

from scheduler.weights.disk_weigher import DiskWeigher
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf


def test_the_weight_is_the_free_disk() -> None:
    """In MiB."""
    weigher = DiskWeigher(scheduling_conf())
    assert weigher.host_weight(a_table([a_host(free_disk_mb=9)])[0], a_request_spec()) == 9.0
