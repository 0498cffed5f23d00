"""Operations under way are the weight, and idle hosts are preferred."""

from __future__ import annotations

from scheduler.weights.io_ops_weigher import IoOpsWeigher
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf


def test_idle_hosts_are_preferred() -> None:
    """The default multiplier is negative."""
    weigher = IoOpsWeigher(scheduling_conf())
    assert weigher.host_weight(a_table([a_host(num_io_ops=3)])[0], a_request_spec()) == 3.0
    assert weigher.multipliers(a_table([a_host()])).tolist() == [-1.0]
