"""A topology is read once for as long as its host reports nothing else."""

from __future__ import annotations

import copy

from scheduler import numa_readings
from scheduler.cell_usage import HostTopologyDict
from scheduler.numa_readings import NumaReadings
from tests.fixtures.numa_fleets import a_host_topology

PLAIN = a_host_topology().to_plain()


def test_equal_reports_are_one_topology() -> None:
    """None and nonsense are none."""
    first, second, *none = NumaReadings().of_all(
        [PLAIN, copy.deepcopy(PLAIN), None, {"cells": 7}, {"cells": 7}]
    )
    assert first == a_host_topology()
    assert second is first
    assert none == [None] * 3


def test_what_was_made_for_a_decision_is_not_kept() -> None:
    """It has its topology with it."""
    readings = NumaReadings()
    made = HostTopologyDict(a_host_topology())
    assert readings.of_all([made])[0] is made.topology
    assert not readings._by_identity


def test_old_reports_are_forgotten() -> None:
    """When there are more of them than hosts."""
    readings = NumaReadings()
    for _ in range(3 * numa_readings._SPARE):
        readings.of_all([copy.copy(PLAIN)])
    assert len(readings._by_identity) <= numa_readings._SPARE + 3
