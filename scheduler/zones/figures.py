"""What each zone of a tree counts by itself, so that one that has several parents counts once.

Figures go up with the summaries, zone by zone; whoever is above puts those of the same zone
together and adds up the rest. A zone that tells nothing of those below it, of an older release or
with too many of them, counts as one that has all their hosts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from armillary import exception
from scheduler.zones import capabilities
from scheduler.zones.capabilities import Capabilities

Row = dict[str, float]
"""One zone's figures: counts, what ``Capabilities`` has as ``hosts``, attributes that add up."""
Figures = dict[str, Row]
"""By the zones' names."""

COUNTS = ("hosts", "hosts_up", "hosts_disabled", "zones")
_CAPABLE = "capable"
_ZONES_MAX = 1000
_COLUMNS_MAX = 100
_NAME_LENGTH_MAX = 64


def row_of(counts: Mapping[str, float], made: Capabilities) -> Row:
    """Return the figures of what these counts and capabilities are about."""
    sums = {
        _column(name): made["attributes"][name]
        for name in capabilities.adding_up()
        if name in made["attributes"]
    }
    return {**{key: counts[key] for key in COUNTS}, _CAPABLE: made["hosts"], **sums}


def together(own_name: str, own: Row, others: Iterable[Figures]) -> Figures:
    """Return the figures of all zones; of one that several tell of, the greatest.

    So nobody can make another zone's smaller than they are.
    """
    found: Figures = {own_name: own}
    for figures in others:
        for name, row in figures.items():
            if name == own_name:
                continue
            known = found.setdefault(name, {})
            for column, value in row.items():
                known[column] = max(known.get(column, value), value)
    return found


def totals(figures: Figures) -> Row:
    """Return the sums of what all zones tell."""
    rows = list(figures.values())
    columns = set.intersection(*(set(row) for row in rows))
    return {column: sum(row[column] for row in rows) for column in columns}


def with_sums(made: Capabilities, total: Row, parts: Iterable[Capabilities]) -> Capabilities:
    """Return capabilities that add up to these totals, and are no less than any of the parts."""
    known = list(parts)
    attributes = dict(made["attributes"])
    for name in capabilities.adding_up():
        if name in attributes and _column(name) in total:
            of_parts = [part["attributes"][name] for part in known]
            attributes[name] = max(total[_column(name)], *of_parts)
    hosts = max(total[_CAPABLE], *(part["hosts"] for part in known))
    return {**made, "attributes": attributes, "hosts": hosts}


def to_plain(figures: Figures) -> dict[str, Any] | None:
    """Return them as they travel; None for those of too many zones."""
    if len(figures) > _ZONES_MAX:
        return None
    columns = sorted(set().union(*figures.values()))
    rows = {name: [row.get(column) for column in columns] for name, row in figures.items()}
    return {"columns": columns, "rows": rows}


def checked(given: Any) -> Figures | None:
    """Return what came from another zone; None where nothing did. Raises ``Invalid``."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise _nonsense()
    columns, rows = given.get("columns"), given.get("rows")
    if not (isinstance(columns, list) and all(isinstance(each, str) for each in columns)):
        raise _nonsense()
    if not isinstance(rows, Mapping) or len(rows) > _ZONES_MAX or len(columns) > _COLUMNS_MAX:
        raise _nonsense()
    return {_name(name): _row(columns, row) for name, row in rows.items()}


def _name(name: Any) -> str:
    if not isinstance(name, str) or len(name) > _NAME_LENGTH_MAX:
        raise _nonsense()
    return name


def _row(columns: list[str], values: Any) -> Row:
    if not isinstance(values, list) or len(values) != len(columns):
        raise _nonsense()
    row = {
        column: value for column, value in zip(columns, values, strict=True) if value is not None
    }
    if not all(map(_is_number, row.values())):
        raise _nonsense()
    if not all(row.get(column, -1) >= 0 for column in (*COUNTS, _CAPABLE)):
        raise _nonsense()
    return row


def _column(attribute: str) -> str:
    return f"attributes.{attribute}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _nonsense() -> exception.Invalid:
    return exception.Invalid(reason="the summary of a zone makes no sense: figures of each zone")
