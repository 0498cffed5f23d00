"""Metrics of all hosts as arrays."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any

from scheduler.hosts import host_metrics
from scheduler.hosts.derived_columns import Derived, Reports
from scheduler.hosts.host_table import HostTable, Numbers

_Names = tuple[str, ...]


class MetricColumns:
    """Reads the metrics named by a plugin's options. Thread-safe."""

    def __init__(self) -> None:
        self._reports = Reports("metrics")
        self._last: tuple[_Names, Derived] = ((), _derived(()))

    def read(self, hosts: HostTable, wanted: Iterable[str]) -> Numbers:
        """Return an array [metric, host] in the order of the names; NaN if not reported."""
        names = tuple(wanted)
        last_names, derived = self._last
        if names != last_names:  # the option was changed at run time
            derived = _derived(names)
            self._last = (names, derived)
        return self._reports.numbers(hosts, derived)


def _derived(names: _Names) -> Derived:
    return Derived(functools.partial(_values, names=names), shape=(len(names),))


def _values(metrics: Any, *, names: _Names) -> list[float]:
    found = host_metrics.values_of(metrics, names)
    return [found.get(name, math.nan) for name in names]
