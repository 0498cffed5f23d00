"""All hosts of all cells, kept up to date by what the cells push; decisions take snapshots."""

from __future__ import annotations

import dataclasses
import enum
import itertools
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from oslo_config import cfg

from armillary import exception
from objects import host_attributes
from objects.host_attributes import Collector, HostAttribute
from objects.host_states import HostStateBatch
from scheduler.facts import Facts
from scheduler.host_table import DTYPES, Column, HostTable, Numbers, Snapshot
from scheduler.usage import Positions

_TEXTS = ("uuid", "host", "nodename")
_ROWS_MIN = 64


class Outcome(enum.Enum):
    """What became of a batch."""

    APPLIED = "applied"
    STALE = "stale"
    """Nothing new in it."""
    GAP = "gap"
    """Something before it is missing: ask the cell for what came after ``seq_of``."""


@dataclasses.dataclass(slots=True)
class _Cell:
    """What is known of one cell; ``index`` stands for it in the column ``cell``."""

    uuid: str
    index: int
    heard_at: float
    seq: int = 0
    rows: set[int] = dataclasses.field(default_factory=set)


class Fleet:
    """The hosts, one row a node, one column an attribute. Thread-safe.

    It can be thrown away and is filled again from the cells. Columns that a snapshot uses are
    copied before they are written to, so a decision is never disturbed.
    """

    def __init__(self, conf: cfg.ConfigOpts, *, clock: Callable[[], float]) -> None:
        self._conf = conf
        self._clock = clock
        self._lock = threading.Lock()
        self._facts = Facts()
        self._cells: dict[str, _Cell] = {}
        self._cell_uuids: list[str] = []
        self._row_of: dict[str, int] = {}
        self._free: list[int] = []
        self._columns = {name: _empty(name, _ROWS_MIN) for name in _column_names()}
        self._rows_max = _ROWS_MIN
        self._rows_end = 0
        self._lent: set[str] = set()  # columns that a snapshot has
        self._in_flight: dict[str, tuple[int, float]] = {}  # instance -> row, until when
        self._pools: dict[str, dict[str, Any]] = {}

    def __len__(self) -> int:
        return len(self._row_of)

    # What the cells and the super conductor say ---------------------------------------------------

    @property
    def facts(self) -> Facts:
        """The cells and aggregates as last heard."""
        return self._facts

    def set_facts(self, facts: Facts) -> None:
        """Take over other facts; hosts of cells that are gone are forgotten."""
        with self._lock:
            self._facts = facts
            for cell in list(self._cells.values()):
                if cell.uuid not in facts.cell_names:
                    self._remove(cell, [self._uuid_at(row) for row in cell.rows])
                    del self._cells[cell.uuid]

    def apply(self, batch: HostStateBatch) -> Outcome:
        """Take over a batch in its turn; whatever comes of that, the cell was heard of.

        Raises ``Invalid`` for a batch whose columns have different lengths; then nothing was
        changed.
        """
        values = self._checked(batch)
        with self._lock:
            cell = self._cell(batch.cell_uuid)
            cell.heard_at = self._clock()
            if not batch.full:
                if batch.last_seq <= cell.seq:
                    return Outcome.STALE
                if batch.first_seq > cell.seq:
                    return Outcome.GAP
            if batch.full:
                present = set(batch.node_uuids)
                rows = [row for row in cell.rows if self._uuid_at(row) not in present]
                self._remove(cell, [self._uuid_at(row) for row in rows])
            self._write(cell, batch, values)
            self._remove(cell, batch.removed)
            cell.seq = batch.last_seq
            return Outcome.APPLIED

    def seq_of(self, cell_uuid: str) -> int:
        """Return the sequence number up to which a cell is known; 0 for an unknown cell."""
        with self._lock:
            cell = self._cells.get(cell_uuid)
            return cell.seq if cell else 0

    def silent_cells(self, seconds: float) -> list[str]:
        """Return the enabled cells of which nothing was heard for that long, or ever."""
        with self._lock:
            since = self._clock() - seconds
            return [
                uuid
                for uuid in sorted(self._facts.enabled_cells)
                if uuid not in self._cells or self._cells[uuid].heard_at < since
            ]

    # What decisions ask and tell ------------------------------------------------------------------

    def view(self, node_uuids: Sequence[str]) -> tuple[HostTable, Positions]:
        """Return a table of those nodes that are known, and their indexes into ``node_uuids``.

        Hosts of a cell that has not been heard of for ``service_down_time`` count as down.
        """
        with self._lock:
            self._forget_expired()
            found = map(self._row_of.get, node_uuids, itertools.repeat(-1))
            rows = np.fromiter(found, np.int64, len(node_uuids))
            self._lent.update(self._columns)
            snapshot = Snapshot(dict(self._columns), tuple(self._cell_uuids), self._facts)
            heard = self._by_cell(self._is_heard)
        known = np.flatnonzero(rows >= 0)
        return _table(snapshot, rows[known], heard), known

    def remember(self, claims: Iterable[tuple[str, str]]) -> None:
        """Count these (node, instance) as on their hosts until a push shows them, or too long."""
        with self._lock:
            until = self._clock() + self._conf.scheduler.claimed_instance_seconds
            for node_uuid, instance_uuid in claims:
                row = self._row_of.get(node_uuid)
                if row is None:
                    continue
                self._forget([instance_uuid])
                self._in_flight[instance_uuid] = (row, until)
                self._own("in_flight")[row] += 1
                self._own("in_flight_uuids")[row] += (instance_uuid,)

    # Rows -----------------------------------------------------------------------------------------

    def _cell(self, uuid: str) -> _Cell:
        cell = self._cells.get(uuid)
        if cell is None:
            if uuid not in self._cell_uuids:
                self._cell_uuids.append(uuid)
            cell = self._cells[uuid] = _Cell(uuid, self._cell_uuids.index(uuid), self._clock())
        return cell

    def _is_heard(self, uuid: str) -> bool:
        cell = self._cells.get(uuid)
        return cell is not None and self._clock() - cell.heard_at < self._conf.service_down_time

    def _by_cell(self, question: Callable[[str], bool]) -> Numbers:
        return np.fromiter((question(uuid) for uuid in self._cell_uuids), np.bool_)

    def _uuid_at(self, row: int) -> str:
        uuid: str = self._columns["uuid"][row]
        return uuid

    def _checked(self, batch: HostStateBatch) -> dict[str, Any]:
        count = len(batch.node_uuids)
        values: dict[str, Any] = {
            "uuid": batch.node_uuids,
            "host": batch.hosts,
            "nodename": batch.nodes,
        }
        for attribute in host_attributes.HOST_ATTRIBUTES:
            given = batch.attributes.get(attribute.name)  # an older cell may not know it
            values[attribute.name] = (
                [attribute.default] * count if given is None else self._converted(attribute, given)
            )
        for name, column in values.items():
            if len(column) != count:
                raise exception.Invalid(
                    reason=f"host states of cell {batch.cell_uuid}: {count} nodes, but "
                    f"{len(column)} values of {name}"
                )
        return values

    def _converted(self, attribute: HostAttribute, values: list[Any]) -> Any:
        if attribute.kind in DTYPES:
            return _numbers(attribute, values)
        if attribute.collector is Collector.DRIVER:
            return [self._pooled(attribute, value) for value in values]
        return [attribute.default if value is None else value for value in values]

    def _pooled(self, attribute: HostAttribute, value: Any) -> Any:
        """Return one object for equal values: what drivers report is the same on many hosts."""
        if value is None:
            return attribute.default
        pool = self._pools.setdefault(attribute.name, {})
        if len(pool) > 2 * len(self._row_of) + _ROWS_MIN:
            pool.clear()  # of values that no host has any more
        return pool.setdefault(value if isinstance(value, str) else repr(value), value)

    def _write(self, cell: _Cell, batch: HostStateBatch, values: dict[str, Any]) -> None:
        if not batch.node_uuids:
            return
        rows = [self._row_for(cell, uuid) for uuid in batch.node_uuids]
        self._own("cell")[rows] = cell.index
        for name, given in values.items():
            column = self._own(name)
            if isinstance(column, np.ndarray):
                column[rows] = given
            else:
                for row, value in zip(rows, given, strict=True):
                    column[row] = value
        if self._in_flight:
            for shown in values["instance_uuids"]:
                self._forget(self._in_flight.keys() & set(shown or ()))

    def _row_for(self, cell: _Cell, uuid: str) -> int:
        row = self._row_of.get(uuid)
        if row is None:
            row = self._row_of[uuid] = self._new_row()
        else:
            former = self._cells.get(self._cell_uuids[self._columns["cell"][row]])
            if former is not None and former is not cell:  # the node moved
                former.rows.discard(row)
        cell.rows.add(row)
        return row

    def _new_row(self) -> int:
        if self._free:
            return self._free.pop()
        if self._rows_end == self._rows_max:
            for name, column in self._columns.items():
                self._columns[name] = _doubled(name, column)
            self._lent.clear()
            self._rows_max *= 2
        self._rows_end += 1
        return self._rows_end - 1

    def _remove(self, cell: _Cell, uuids: Iterable[str]) -> None:
        for uuid in uuids:
            row = self._row_of.get(uuid)
            if row is None or row not in cell.rows:  # gone already, or moved to another cell
                continue
            self._forget(self._columns["in_flight_uuids"][row])
            del self._row_of[uuid]
            cell.rows.remove(row)
            self._free.append(row)

    def _own(self, name: str) -> Any:
        """Return a column to write to: a copy when a snapshot has it."""
        if name in self._lent:
            self._columns[name] = self._columns[name].copy()
            self._lent.remove(name)
        return self._columns[name]

    # Claimed here, not reported yet ---------------------------------------------------------------

    def _forget(self, instance_uuids: Iterable[str]) -> None:
        for uuid in instance_uuids:
            row, _until = self._in_flight.pop(uuid, (None, 0.0))
            if row is not None:
                self._own("in_flight")[row] -= 1
                present = self._own("in_flight_uuids")
                present[row] = tuple(other for other in present[row] if other != uuid)

    def _forget_expired(self) -> None:
        now = self._clock()
        expired = []
        for uuid, (_row, until) in self._in_flight.items():  # in the order of their ends
            if until > now:
                break
            expired.append(uuid)
        self._forget(expired)


def _column_names() -> list[str]:
    attributes = [attribute.name for attribute in host_attributes.HOST_ATTRIBUTES]
    return [*attributes, *_TEXTS, "cell", "in_flight", "in_flight_uuids"]


def _empty(name: str, rows: int) -> Column:
    if name in ("cell", "in_flight"):
        return np.zeros(rows, np.int64)
    if name == "in_flight_uuids":
        return [()] * rows
    attribute = host_attributes.BY_NAME.get(name)
    if attribute is not None and attribute.kind in DTYPES:
        return np.zeros(rows, DTYPES[attribute.kind])
    return [None] * rows


def _doubled(name: str, column: Column) -> Column:
    more = _empty(name, len(column))
    if isinstance(column, np.ndarray):
        return np.concatenate([column, more])
    return [*column, *more]


def _numbers(attribute: HostAttribute, values: list[Any]) -> Numbers:
    dtype = DTYPES[attribute.kind]
    try:
        numbers: Numbers = np.array(values, dtype)
    except (TypeError, ValueError, OverflowError):  # a null or worse among them
        numbers = np.array([_number(attribute, dtype, value) for value in values], dtype)
    if dtype is np.float64:
        numbers[~np.isfinite(numbers)] = attribute.default
    return numbers


def _number(attribute: HostAttribute, dtype: type, value: Any) -> Any:
    try:
        return dtype(value)
    except (TypeError, ValueError, OverflowError):
        return attribute.default


def _table(snapshot: Snapshot, rows: Positions, heard: Numbers) -> HostTable:
    def numbers(name: str) -> Numbers:
        column: Numbers = snapshot.columns[name]  # type: ignore[assignment]  # not a list
        return column[rows]

    cell, in_flight = numbers("cell"), numbers("in_flight")
    enabled = np.fromiter(
        (uuid in snapshot.facts.enabled_cells for uuid in snapshot.cells), np.bool_
    )
    return HostTable(
        snapshot,
        rows,
        {
            "cell": cell,
            "cell_enabled": enabled[cell],
            "service_up": numbers("service_up") & heard[cell],
            "num_instances": numbers("num_instances") + in_flight,
            "num_io_ops": numbers("num_io_ops") + in_flight,
        },
    )
