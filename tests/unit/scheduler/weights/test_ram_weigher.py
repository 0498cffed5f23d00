"""Free memory is the weight."""

from __future__ import annotations

from scheduler.weights.ram_weigher import RAMWeigher
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf


def test_the_weight_is_the_free_memory() -> None:
    """In MiB, as placement has it; below zero it is the scale that ends."""
    weigher = RAMWeigher(scheduling_conf())
    assert weigher.host_weight(a_table([a_host(free_ram_mb=-7)])[0], a_request_spec()) == -7.0
    assert weigher.minval == 0.0
