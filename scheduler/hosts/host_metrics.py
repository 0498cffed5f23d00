"""Metrics that monitors report: of one host by name, of all hosts as arrays."""

import functools
import math
from collections.abc import Container, Iterable
from typing import Any

from objects.extra_specs.aggregate_metadata import NUMBER_MAX
from scheduler.hosts.derived_columns import Derived, Reports
from scheduler.hosts.host_table import HostTable, Numbers

SHARE_SUFFIX = ".percent"
"""Metrics with this suffix are sent as fractions, 0 to 1, and read as percents, 0 to 100."""


def values_of(metrics: Any, wanted: Container[str]) -> dict[str, float]:
    """Return name -> value for the wanted metrics that a host reports as numbers.

    ``metrics`` is the host's report: dicts with ``name`` and ``value``.
    """
    found = {}
    for metric in metrics or ():
        name = metric.get("name") if isinstance(metric, dict) else None
        if not isinstance(name, str) or name not in wanted:
            continue
        value = _number(metric.get("value"))
        if value is not None:
            found[name] = float(round(value * 100)) if name.endswith(SHARE_SUFFIX) else value
    return found


def _number(value: Any) -> float | None:
    """Return a number within a range that is safe for calculations, else None."""
    if not isinstance(value, int | float) or not abs(value) < NUMBER_MAX:
        return None
    return float(value)


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
    found = values_of(metrics, names)
    return [found.get(name, math.nan) for name in names]
