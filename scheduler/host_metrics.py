"""What monitors measure on a host, by name."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

SHARE_SUFFIX = ".percent"
"""Names with this end are sent as shares, 0 to 1, and read as whole percents, 0 to 100."""


def values_of(metrics: Any, wanted: Container[str]) -> dict[str, float]:
    """Return name -> value of those wanted that a host reports, as numbers; others are not there.

    ``metrics`` are what hosts report: dicts with ``name`` and ``value``.
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
    """Return a number that may be reckoned with without running out of range."""
    if not isinstance(value, int | float) or not abs(value) < 1e100:
        return None
    return float(value)
