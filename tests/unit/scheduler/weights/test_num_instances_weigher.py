"""The number of instances is the weight."""

from __future__ import annotations

from scheduler.weights.num_instances_weigher import NumInstancesWeigher
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf


def test_the_default_has_no_preference() -> None:
    """An operator chooses to pack or to spread."""
    weigher = NumInstancesWeigher(scheduling_conf())
    assert weigher.host_weight(a_table([a_host(num_instances=3)])[0], a_request_spec()) == 3.0
    assert weigher.multipliers(a_table([a_host()])).tolist() == [0.0]
