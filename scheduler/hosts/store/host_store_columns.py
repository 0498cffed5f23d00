"""Columns of the host store: which there are, and their values in a batch of host states."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from armillary import exception
from objects.hosts import host_attributes
from objects.hosts.attribute_shapes import is_well_formed
from objects.hosts.host_attributes import Collector, HostAttribute, Kind
from objects.hosts.host_states import HostStateBatch
from scheduler.hosts.host_table import DTYPES, Column, Numbers
from scheduler.hosts.packed_uuids import PackedUUIDs

_TEXTS = ("uuid", "host", "nodename")

_EMPTY: dict[type, Any] = {list: [], dict: {}}
"""Shared immutable values for empty lists and dicts."""

_POOLED_MIN = 64


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


def batch_of(
    columns: Mapping[str, Column], cell_uuid: str, seq: int, rows: list[int]
) -> HostStateBatch:
    """Return rows of one cell as the cell would report them."""
    return HostStateBatch.from_values(
        cell_uuid=cell_uuid,
        first_seq=seq,
        last_seq=seq,
        node_uuids=_taken(columns["uuid"], rows),
        hosts=_taken(columns["host"], rows),
        nodes=_taken(columns["nodename"], rows),
        attributes={
            attribute.name: _taken(columns[attribute.name], rows)
            for attribute in host_attributes.HOST_ATTRIBUTES
        },
    )


def without(batch: HostStateBatch, nodes: Collection[str]) -> HostStateBatch:
    """Return a batch without the rows of these nodes. Raises ``Invalid`` as ``check_lengths``."""
    check_lengths(batch)
    kept = [place for place, uuid in enumerate(batch.node_uuids) if uuid not in nodes]

    def of(column: Sequence[Any]) -> list[Any]:
        return [column[place] for place in kept]

    return batch.with_values(
        node_uuids=of(batch.node_uuids),
        hosts=of(batch.hosts),
        nodes=of(batch.nodes),
        attributes={name: of(column) for name, column in batch.attributes.items()},
    )


def check_lengths(batch: HostStateBatch) -> None:
    """Raise ``Invalid`` unless all columns of a batch have one value per node."""
    count = len(batch.node_uuids)
    for name, column in {"host": batch.hosts, "nodename": batch.nodes, **batch.attributes}.items():
        if len(column) != count:
            raise exception.Invalid(
                reason=f"host states of cell {batch.cell_uuid}: {count} nodes, but "
                f"{len(column)} values of {name}"
            )


def _taken(column: Column, rows: list[int]) -> list[Any]:
    """Return values as plain JSON values."""
    if isinstance(column, np.ndarray):
        plain: list[Any] = column[rows].tolist()
        return plain
    return [_plain(column[row]) for row in rows]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, PackedUUIDs) else value


class ReportedColumns:
    """Reads batches; shares one object between equal values, which are common.

    A value of another shape than its attribute's becomes the default: the host lacks what it is.
    """

    def __init__(self) -> None:
        self._pools: dict[str, dict[str, object]] = {}

    def read(self, batch: HostStateBatch, *, nodes_known: int) -> dict[str, Column]:
        """Return the names and all attributes, with one value per node of the batch.

        Raises ``Invalid`` for columns of different lengths.
        """
        check_lengths(batch)
        count = len(batch.node_uuids)
        values: dict[str, Column] = {
            "uuid": batch.node_uuids,
            "host": batch.hosts,
            "nodename": batch.nodes,
        }
        self._forget_unused(2 * nodes_known + _POOLED_MIN)
        for attribute in host_attributes.HOST_ATTRIBUTES:
            given = batch.attributes.get(attribute.name)  # None if an older cell does not send it
            values[attribute.name] = (
                [attribute.default] * count if given is None else self._converted(attribute, given)
            )
        return values

    def _converted(self, attribute: HostAttribute, values: list[Any]) -> Column:
        if attribute.kind in DTYPES:
            return _numbers(attribute, values)
        if attribute.collector is Collector.DRIVER:
            return [self._pooled(attribute, value) for value in values]
        if attribute.name == "instance_uuids":
            return [PackedUUIDs.of(value) if value else attribute.default for value in values]
        return [_shared(attribute, value) for value in values]

    def _pooled(self, attribute: HostAttribute, value: Any) -> Any:
        """Return one object for equal values: drivers report the same on many hosts."""
        if value is None:
            return attribute.default
        if not isinstance(value, str) and attribute.kind is Kind.TEXT:
            return attribute.default
        pool = self._pools.setdefault(attribute.name, {})
        key = value if isinstance(value, str) else repr(value)
        if key not in pool:
            pool[key] = value if is_well_formed(attribute.name, value) else attribute.default
        return pool[key]

    def _forget_unused(self, size_max: int) -> None:
        """Drop pools that grew too large with values that no host reports any more."""
        self._pools = {
            name: pool for name, pool in list(self._pools.items()) if len(pool) <= size_max
        }


def _shared(attribute: HostAttribute, value: Any) -> Any:
    """Return one shared object for empty values, and the default for what nothing could read."""
    if value is None:
        return attribute.default
    if not value and isinstance(value, list | dict):
        return _EMPTY[type(value)]
    return value if is_well_formed(attribute.name, value) else attribute.default


def _numbers(attribute: HostAttribute, values: list[Any]) -> Numbers:
    dtype = DTYPES[attribute.kind]
    try:
        numbers: Numbers = np.array(values, dtype)
    except (TypeError, ValueError, OverflowError):  # contains nulls or invalid values
        numbers = np.array([_number(attribute, dtype, value) for value in values], dtype)
    if dtype is np.float64:
        numbers[~np.isfinite(numbers)] = attribute.default
    return numbers


def _number(attribute: HostAttribute, dtype: type, value: Any) -> Any:
    try:
        return dtype(value)
    except (TypeError, ValueError, OverflowError):
        return attribute.default
