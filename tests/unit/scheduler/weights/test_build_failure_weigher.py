"""Failed builds outweigh everything else."""

from __future__ import annotations

from scheduler.weights.build_failure_weigher import BuildFailureWeigher
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf


def test_a_positive_multiplier_means_avoid() -> None:
    """By a million, unless configured."""
    weigher = BuildFailureWeigher(scheduling_conf())
    assert weigher.host_weight(a_table([a_host(failed_builds=2)])[0], a_request_spec()) == 2.0
    assert weigher.multipliers(a_table([a_host()])).tolist() == [-1_000_000.0]
