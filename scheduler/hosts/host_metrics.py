"""Metrics that monitors report for a host, by name."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

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
    if not isinstance(value, int | float) or not abs(value) < 1e100:
        return None
    return float(value)
