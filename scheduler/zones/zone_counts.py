"""Counts by zone, so that a zone with several parents is counted once.

Counts travel up with the summaries, zone by zone; each parent merges the entries of the same zone
and sums the rest. A zone that reports nothing about the zones below it, because there are too
many, counts as one zone with all their hosts.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from armillary import exception
from scheduler.zones import capabilities
from scheduler.zones.capabilities import Capabilities

Row = dict[str, float]
"""One zone's counts, the ``hosts`` of its ``Capabilities``, and its summed attributes."""
ZoneCounts = dict[str, Row]
"""Rows by zone name."""

COUNTS = ("hosts", "hosts_up", "hosts_disabled", "zones")
_CAPABLE = "capable"
_ZONES_MAX = 1000
_COLUMNS_MAX = 100
_NAME_LENGTH_MAX = 64


def row_of(counts: Mapping[str, float], made: Capabilities) -> Row:
    """Return the row for these counts and capabilities."""
    sums = {
        _column(name): _sum(made, name)
        for name in capabilities.adding_up()
        if name in made.attributes
    }
    return {**{key: counts[key] for key in COUNTS}, _CAPABLE: made.hosts, **sums}


def merge(own_name: str, own: Row, others: Iterable[ZoneCounts]) -> ZoneCounts:
    """Return the rows of all zones; the greatest values win if several children report a zone.

    This way no zone can make another zone's counts smaller than they are.
    """
    found: ZoneCounts = {own_name: own}
    for figures in others:
        for name, row in figures.items():
            if name == own_name:
                continue
            known = found.setdefault(name, {})
            for column, value in row.items():
                known[column] = max(known.get(column, value), value)
    return found


def totals(figures: ZoneCounts) -> Row:
    """Return the sums over all zones."""
    rows = list(figures.values())
    columns = set.intersection(*(set(row) for row in rows))
    return {column: sum(row[column] for row in rows) for column in columns}


def with_sums(made: Capabilities, total: Row, parts: Iterable[Capabilities]) -> Capabilities:
    """Return capabilities with these totals, each at least as great as in any of the parts."""
    known = list(parts)
    attributes = dict(made.attributes)
    for name in capabilities.adding_up():
        if name in attributes and _column(name) in total:
            of_parts = [_sum(part, name) for part in known]
            attributes[name] = max(total[_column(name)], *of_parts)
    hosts = max(int(total[_CAPABLE]), *(part.hosts for part in known))
    return dataclasses.replace(made, attributes=attributes, hosts=hosts)


def _sum(made: Capabilities, name: str) -> float:
    value = made.attributes[name]
    assert isinstance(value, int | float)
    return value


def to_plain(figures: ZoneCounts) -> dict[str, object] | None:
    """Return the wire form; None if there are too many zones."""
    if len(figures) > _ZONES_MAX:
        return None
    columns = sorted(set().union(*figures.values()))
    rows = {name: [row.get(column) for column in columns] for name, row in figures.items()}
    return {"columns": columns, "rows": rows}


def checked(given: Any) -> ZoneCounts | None:
    """Return the parsed counts of another zone; None if it sent none. Raises ``Invalid``."""
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
    return exception.Invalid(reason="invalid zone summary: counts by zone")
