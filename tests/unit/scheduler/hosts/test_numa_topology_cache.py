"""A topology is read once for as long as its host reports nothing else."""

from __future__ import annotations

import copy

from scheduler.hosts import numa_topology_cache
from scheduler.hosts.numa_topology_cache import NumaTopologyCache
from scheduler.hosts.numa_usage import HostTopologyDict
from tests.fixtures.numa_fleets import a_host_topology

PLAIN = a_host_topology().to_plain()


def test_equal_reports_are_one_topology() -> None:
    """None and nonsense are none."""
    readings = NumaTopologyCache()
    plains = [PLAIN, copy.deepcopy(PLAIN), None, {"cells": 7}, {"cells": 7}]
    first, second, *none = [readings.of(plain) for plain in plains]
    assert first == a_host_topology()
    assert second is first
    assert none == [None] * 3


def test_what_was_made_for_a_decision_is_not_kept() -> None:
    """It has its topology with it."""
    readings = NumaTopologyCache()
    made = HostTopologyDict(a_host_topology())
    assert readings.of(made) is made.topology
    assert not readings._by_identity


def test_old_reports_are_forgotten() -> None:
    """Few hosts report much in time."""
    readings = NumaTopologyCache()
    for _ in range(2 * numa_topology_cache._REMEMBERED_MAX):
        readings.of(copy.copy(PLAIN))
    assert len(readings._by_identity) <= numa_topology_cache._REMEMBERED_MAX
