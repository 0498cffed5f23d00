"""Columns of the host store: the host attributes, and those that the scheduler adds."""

from __future__ import annotations

import numpy as np

from objects import host_attributes
from scheduler.hosts.host_table import DTYPES, Column

_TEXTS = ("uuid", "host", "nodename")


def names() -> list[str]:
    """Return the names of all columns."""
    attributes = [attribute.name for attribute in host_attributes.HOST_ATTRIBUTES]
    return [*attributes, *_TEXTS, "cell", "in_flight", "in_flight_uuids"]


def empty(name: str, rows: int) -> Column:
    """Return a column of default values with this many rows."""
    if name in ("cell", "in_flight"):
        return np.zeros(rows, np.int64)
    if name == "in_flight_uuids":
        return [()] * rows
    attribute = host_attributes.BY_NAME.get(name)
    if attribute is not None and attribute.kind in DTYPES:
        return np.zeros(rows, DTYPES[attribute.kind])
    return [None] * rows


def doubled(name: str, column: Column) -> Column:
    """Return a column extended to twice its length with empty rows."""
    more = empty(name, len(column))
    if isinstance(column, np.ndarray):
        return np.concatenate([column, more])
    return [*column, *more]
