"""The columns of the table of all hosts: one for each attribute, and what a scheduler adds."""

from __future__ import annotations

import numpy as np

from objects import host_attributes
from scheduler.host_table import DTYPES, Column

_TEXTS = ("uuid", "host", "nodename")


def names() -> list[str]:
    """Return the names of all."""
    attributes = [attribute.name for attribute in host_attributes.HOST_ATTRIBUTES]
    return [*attributes, *_TEXTS, "cell", "in_flight", "in_flight_uuids"]


def empty(name: str, rows: int) -> Column:
    """Return a column of so many hosts of which nothing is known."""
    if name in ("cell", "in_flight"):
        return np.zeros(rows, np.int64)
    if name == "in_flight_uuids":
        return [()] * rows
    attribute = host_attributes.BY_NAME.get(name)
    if attribute is not None and attribute.kind in DTYPES:
        return np.zeros(rows, DTYPES[attribute.kind])
    return [None] * rows


def doubled(name: str, column: Column) -> Column:
    """Return a column with as many empty rows behind it."""
    more = empty(name, len(column))
    if isinstance(column, np.ndarray):
        return np.concatenate([column, more])
    return [*column, *more]
