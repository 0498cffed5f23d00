"""What monitors measure on all hosts, as numbers."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any

from scheduler import host_metrics
from scheduler.derived_columns import Derived, Reports
from scheduler.host_table import HostTable, Numbers

_Names = tuple[str, ...]


class MetricColumns:
    """Reads those metrics that a plugin's options name. Thread-safe."""

    def __init__(self) -> None:
        self._reports = Reports("metrics")
        self._last: tuple[_Names, Derived] = ((), _derived(()))

    def read(self, hosts: HostTable, wanted: Iterable[str]) -> Numbers:
        """Return [metric, host], in the order of the names; NaN where it is not reported."""
        names = tuple(wanted)
        last_names, derived = self._last
        if names != last_names:  # the option was changed while the service runs
            derived = _derived(names)
            self._last = (names, derived)
        return self._reports.numbers(hosts, derived)


def _derived(names: _Names) -> Derived:
    return Derived(functools.partial(_values, names=names), shape=(len(names),))


def _values(metrics: Any, *, names: _Names) -> list[float]:
    found = host_metrics.values_of(metrics, names)
    return [found.get(name, math.nan) for name in names]
