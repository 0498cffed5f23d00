"""The store of all hosts of all cells, updated by pushes; decisions use snapshots of it."""

import contextlib
import dataclasses
import enum
import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from oslo_config import cfg

from objects.hosts.host_states import HostStateBatch
from scheduler.hosts import host_store_columns
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.hosts.host_store_columns import ReportedColumns
from scheduler.hosts.host_table import Column, HostTable, Numbers, Snapshot
from scheduler.hosts.numa_usage import RATIOS, CellDemand, Cells
from scheduler.hosts.rows_by_id import NamedIds, RowsById
from scheduler.hosts.tie_order import TieOrder
from scheduler.hosts.usage import Positions

LOG = logging.getLogger(__name__)

InstancesOfHosts = Mapping[str, Collection[str]]
"""Host -> UUIDs of instances."""

NodesOfHosts = Mapping[str, list[str]]
"""Host -> UUIDs of its compute nodes."""

_ROWS_MIN = 64
_SHOWN = ("cell", "service_up", "num_instances", "num_io_ops", "in_flight")
"""Columns that a table changes: silent cells are down, and claimed instances count."""


class Outcome(enum.Enum):
    """Result of applying a batch."""

    APPLIED = "applied"
    STALE = "stale"
    """The batch contains nothing new."""
    GAP = "gap"
    """An earlier batch is missing: request the changes after ``seq_of`` from the cell."""


@dataclasses.dataclass(slots=True)
class _Cell:
    """State of one cell; ``index`` is its value in the column ``cell``.

    ``restored_as_of`` is the time of the snapshot that its hosts are from, until it answers.
    """

    uuid: str
    index: int
    heard_at: float
    seq: int = 0
    restored_as_of: str | None = None
    rows: set[int] = dataclasses.field(default_factory=set)


@dataclasses.dataclass(slots=True)
class _Demand:
    """NUMA cells and devices claimed on a host whose agent does not count them yet."""

    row: int
    needs: CellDemand
    until: float
    is_shown: bool = False
    """Whether the instance has been reported on the host, or removed from it."""

    def is_counted(self, uuid: str, shown: Collection[str], placed: Collection[str] | None) -> bool:
        """Note a report of the host; return whether its figures count the instance, or it left.

        A cell reports an instance when its build starts, the agent counts it once it is placed.
        An agent that does not name what it counts is assumed to count all instances.
        """
        if uuid in (shown if placed is None else placed):
            return True
        was_shown, self.is_shown = self.is_shown, uuid in shown
        return was_shown and not self.is_shown


class HostStore:
    """The hosts, one row per node, one column per attribute. Thread-safe.

    The store is a cache that can be refilled from the cells. Columns used by a snapshot are copied
    on write, so a decision always sees consistent data.
    """

    def __init__(self, conf: cfg.ConfigOpts, *, clock: Callable[[], float]) -> None:
        self._conf = conf
        self._clock = clock
        self._lock = threading.Lock()
        self._cluster_metadata = ClusterMetadata()
        self._cells: dict[str, _Cell] = {}
        self._cell_uuids: list[str] = []
        self._heard_any_at = self._cut_off_until = clock()
        self._row_of: dict[str, int] = {}
        self._version = 0  # of _row_of
        self._rows_by_id = RowsById()
        self._free: list[int] = []
        self._columns = {
            name: host_store_columns.empty(name, _ROWS_MIN) for name in host_store_columns.names()
        }
        self._rows_max = _ROWS_MIN
        self._rows_end = 0
        self._in_snapshots: set[str] = set()  # columns that a snapshot uses
        self._in_flight: dict[str, tuple[int, float]] = {}  # instance -> row, expiry
        self._demands: dict[str, _Demand] = {}  # by instance
        self._refused: dict[str, set[str]] = {}  # node -> cells that may not report it
        self._altered: set[int] = set()  # rows that differ from the cell's last push
        self._reported = ReportedColumns()

    def __len__(self) -> int:
        return len(self._row_of)

    # Updates from the cells and the super conductor -----------------------------------------------

    @property
    def cluster_metadata(self) -> ClusterMetadata:
        """The current cells and aggregates."""
        return self._cluster_metadata

    def set_cluster_metadata(self, cluster_metadata: ClusterMetadata) -> None:
        """Replace the metadata; drop the hosts of removed cells."""
        with self._lock:
            self._cluster_metadata = cluster_metadata
            for cell in list(self._cells.values()):
                if cell.uuid not in cluster_metadata.cell_names:
                    self._remove(cell, [self._uuid_at(row) for row in cell.rows])
                    del self._cells[cell.uuid]

    def apply(self, batch: HostStateBatch) -> Outcome:
        """Apply a batch in sequence, and record that the cell was heard from in any case.

        A node of another cell is left out until that cell removes it. Raises ``Invalid`` for a
        batch whose columns have different lengths, without any change.
        """
        values = self._reported.read(batch, nodes_known=len(self._row_of))
        with self._lock:
            cell = self._cell(batch.cell_uuid)
            self._hear(cell)
            if not batch.full:
                if batch.last_seq <= cell.seq:
                    cell.restored_as_of = None  # it has nothing newer
                    return Outcome.STALE
                if batch.first_seq > cell.seq:
                    return Outcome.GAP
            if foreign := self._foreign_among(cell, batch.node_uuids):
                batch = host_store_columns.without(batch, foreign)
                values = self._reported.read(batch, nodes_known=len(self._row_of))
            if batch.full:
                present = set(batch.node_uuids)
                rows = [row for row in cell.rows if self._uuid_at(row) not in present]
                self._remove(cell, [self._uuid_at(row) for row in rows])
            self._write(cell, batch, values)
            self._remove(cell, batch.removed)
            cell.seq = batch.last_seq
            cell.restored_as_of = None
            return Outcome.APPLIED

    def seq_of(self, cell_uuid: str) -> int:
        """Return the last sequence number applied for a cell; 0 for an unknown cell."""
        with self._lock:
            cell = self._cells.get(cell_uuid)
            return cell.seq if cell else 0

    def note_heard(self, cell_uuid: str) -> None:
        """Record that a known cell was heard from."""
        with self._lock:
            self._hear(self._cell(cell_uuid))

    def forget_seq(self, cell_uuid: str) -> None:
        """Make the next fetch from a cell one of all its hosts."""
        with self._lock:
            if cell_uuid in self._cells:
                self._cells[cell_uuid].seq = 0

    # Which cell has a host ------------------------------------------------------------------------

    def new_for_cell(self, batch: HostStateBatch) -> dict[str, list[str]]:
        """Return the hosts of a batch, with the nodes that are not known as that cell's."""
        with self._lock:
            cell = self._cells.get(batch.cell_uuid)
            own = cell.rows if cell else set()
            names = self._columns["host"]
            rows: list[Any] = list(map(self._row_of.get, batch.node_uuids))
            if own.issuperset(rows) and [names[row] for row in rows] == batch.hosts:
                return {}
            new: dict[str, list[str]] = {}
            for uuid, host, row in zip(batch.node_uuids, batch.hosts, rows, strict=False):
                if row is None or row not in own or names[row] != host:
                    new.setdefault(host, []).append(uuid)
            return new

    def nodes_by_cell(self) -> dict[str, dict[str, list[str]]]:
        """Return all hosts and their nodes, by cell."""
        with self._lock:
            names = self._columns["host"]
            found: dict[str, dict[str, list[str]]] = {}
            for cell in self._cells.values():
                hosts = found[cell.uuid] = {}
                for row in cell.rows:
                    hosts.setdefault(names[row], []).append(self._uuid_at(row))
            return found

    def evict(self, cell_uuid: str, hosts: NodesOfHosts) -> None:
        """Remove these hosts and nodes, which are this cell's, from other cells."""
        if not hosts:
            return
        nodes = {uuid for uuids in hosts.values() for uuid in uuids}
        with self._lock:
            names = self._columns["host"]
            for cell in self._cells.values():
                if cell.uuid != cell_uuid:
                    rows = [row for row in cell.rows if names[row] in hosts]
                    rows += [row for row in cell.rows if self._uuid_at(row) in nodes]
                    self._remove(cell, [self._uuid_at(row) for row in rows])

    def drop(self, cell_uuid: str, node_uuids: Collection[str]) -> None:
        """Remove nodes of a cell."""
        with self._lock:
            if cell_uuid in self._cells:
                self._remove(self._cells[cell_uuid], node_uuids)

    # Snapshots of an earlier process --------------------------------------------------------------

    def dump(self, rows_max: int) -> Iterator[HostStateBatch]:
        """Yield all hosts, in batches of one cell and at most ``rows_max`` rows.

        A cell whose rows differ from its last push has the number 0, so that it is asked for all.
        """
        with self._lock:
            self._in_snapshots.update(self._columns)
            columns = dict(self._columns)
            cells = [
                (cell.uuid, 0 if cell.rows & self._altered else cell.seq, sorted(cell.rows))
                for cell in self._cells.values()
            ]
        for uuid, seq, rows in cells:
            for start in range(0, len(rows), rows_max):
                yield host_store_columns.batch_of(
                    columns, uuid, seq, rows[start : start + rows_max]
                )

    def restore(self, batch: HostStateBatch, as_of: str) -> None:
        """Take hosts from a snapshot: they are up for ``service_down_time``, as if just reported.

        Raises ``Invalid`` as ``apply`` does.
        """
        values = self._reported.read(batch, nodes_known=len(self._row_of))
        with self._lock:
            cell = self._cell(batch.cell_uuid)
            self._write(cell, batch, values)
            cell.seq, cell.restored_as_of = batch.last_seq, as_of

    def restored_cells(self) -> dict[str, tuple[int, str]]:
        """Return the enabled cells that have not answered since their hosts were restored.

        For each, the number of hosts and the time of the snapshot.
        """
        return {
            cell.uuid: (len(cell.rows), cell.restored_as_of)
            for cell in list(self._cells.values())
            if cell.restored_as_of is not None and cell.uuid in self._cluster_metadata.enabled_cells
        }

    def silent_cells(self, seconds: float) -> list[str]:
        """Return the enabled cells without a push for that many seconds, or ever."""
        with self._lock:
            since = self._clock() - seconds
            return [
                uuid
                for uuid in sorted(self._cluster_metadata.enabled_cells)
                if uuid not in self._cells or self._cells[uuid].heard_at < since
            ]

    def cells_in_doubt(self) -> dict[str, float]:
        """Return the enabled cells that count as down, but may not be: when each was last heard.

        No cell was heard for so long that this process was probably cut off itself, and these have
        not been heard since.
        """
        with self._lock:
            now = self._clock()
            silent_since = self._cut_off_until
            if now - self._heard_any_at >= self._cut_off_seconds:
                silent_since = now
            return {
                cell.uuid: cell.heard_at
                for cell in self._cells.values()
                if cell.heard_at < silent_since
                and cell.uuid in self._cluster_metadata.enabled_cells
                and not self._is_heard(cell.uuid)
            }

    # Queries and claims of decisions --------------------------------------------------------------

    def view(
        self,
        node_uuids: Sequence[str],
        named: NamedIds | None = None,
        order: TieOrder | None = None,
        *,
        counts_demands: bool = False,
    ) -> tuple[HostTable, Positions]:
        """Return a table of the known nodes, and their indexes into ``node_uuids``.

        ``named`` are placement's numeric ids of the same nodes, which are faster to look up. Hosts
        are in the order of the nodes unless ``order`` is given. Hosts of a cell without a push for
        ``service_down_time`` count as down. With ``counts_demands``, NUMA and device usage includes
        what was claimed and is not reported yet.
        """
        with self._lock:
            self._forget_expired()
            rows = self._rows_by_id.find(named, node_uuids, self._row_of, self._version)
            self._in_snapshots.update(self._columns)
            columns = dict(self._columns)
            snapshot = Snapshot(columns, tuple(self._cell_uuids), self._cluster_metadata)
            claimed = self._demands.values() if counts_demands else ()
            demands = [(each.row, each.needs) for each in claimed]
            heard = self._by_cell(self._is_heard)
        if demands:
            columns.update(_with_claimed(columns, demands))
        known = np.flatnonzero(rows >= 0)
        if order is not None:
            names = columns["nodename"]
            arranged = order.arranged(rows[known], lambda some: [names[row] for row in some])
            known = known[arranged]
        rows = rows[known]
        own = {name: columns[name][rows] for name in _SHOWN}
        cell, in_flight = own["cell"], own.pop("in_flight")
        enabled = [uuid in snapshot.cluster_metadata.enabled_cells for uuid in snapshot.cells]
        own["cell_enabled"] = np.array(enabled, np.bool_)[cell]
        own["service_up"] &= heard[cell]
        own["num_instances"] += in_flight
        own["num_io_ops"] += in_flight
        return HostTable(snapshot, rows, own), known

    def view_all(self) -> HostTable:
        """Return a table of all nodes, for drivers that do not query placement."""
        with self._lock:
            node_uuids = list(self._row_of)
        return self.view(node_uuids)[0]

    def find_nodes(self, column: str, names: Iterable[str], *, any_case: bool = False) -> set[str]:
        """Return the UUIDs of nodes with one of these names; ``column`` is host or nodename."""
        with self._lock:
            texts: list[str] = self._columns[column][: self._rows_end]  # type: ignore[assignment]
            uuids = self._columns["uuid"]
            self._in_snapshots.add("uuid")
        if any_case:
            texts, names = list(map(str.lower, texts)), {name.lower() for name in names}
        rows = [row for name in names for row in _places(texts, name)]
        with self._lock:  # rows of removed nodes keep their names
            return {uuids[row] for row in rows if self._row_of.get(uuids[row]) == row}

    def remember(self, claims: Iterable[tuple[str, str]], demand: CellDemand | None = None) -> None:
        """Count (node, instance) pairs as used until a push reports them or they expire.

        ``demand`` is what each instance needs of NUMA cells and devices. Without it, a demand that
        is known for the same host stays.
        """
        with self._lock:
            until = self._clock() + self._conf.scheduler.claimed_instance_seconds
            for node_uuid, instance_uuid in claims:
                row = self._row_of.get(node_uuid)
                if row is None:
                    continue
                self._settle(row, [instance_uuid])
                self._in_flight[instance_uuid] = (row, until)
                if demand is not None:
                    self._demands[instance_uuid] = _Demand(row, demand, until)
                self._own("in_flight")[row] += 1
                self._own("in_flight_uuids")[row] += (instance_uuid,)

    def forget(self, instance_uuids: Iterable[str]) -> None:
        """Undo ``remember`` for these instances."""
        with self._lock:
            self._forget(instance_uuids)

    def rows_of(self, node_uuids: Iterable[str]) -> dict[str, int]:
        """Return the rows of these nodes in a current snapshot; unknown nodes are omitted."""
        rows = self._row_of
        return {uuid: rows[uuid] for uuid in node_uuids if uuid in rows}

    def host_names(self, node_uuids: Iterable[str]) -> list[str]:
        """Return the names of the hosts of these nodes; unknown nodes are omitted."""
        with self._lock:
            names: list[str] = self._columns["host"]  # type: ignore[assignment]
            return [names[row] for row in self.rows_of(node_uuids).values()]

    # Updates about single instances ---------------------------------------------------------------

    def add_instances(self, hosts: InstancesOfHosts) -> set[str]:
        """Count these instances on their hosts, as ``remember`` does; return unknown hosts."""
        claims = []
        with self._lock:
            rows_of = self._rows_of_hosts(hosts)
            for host, rows in rows_of.items():
                for row in rows:
                    reported = set(self._columns["instance_uuids"][row] or ())
                    told = [uuid for uuid in hosts[host] if uuid not in reported]
                    claims += [(self._uuid_at(row), uuid) for uuid in told]
        self.remember(claims)
        return hosts.keys() - rows_of.keys()

    def drop_instances(self, hosts: InstancesOfHosts) -> set[str]:
        """Remove instances from their hosts until the hosts' next push; return unknown hosts."""
        with self._lock:
            rows_of = self._rows_of_hosts(hosts)
            for host, rows in rows_of.items():
                gone = set(hosts[host])
                for uuid in gone:
                    self._drop_in_flight(uuid)
                    if uuid in self._demands:  # a report made before may still be on its way
                        self._demands[uuid].is_shown = True
                for row in rows:
                    present = self._columns["instance_uuids"][row] or ()
                    left = [uuid for uuid in present if uuid not in gone]
                    if len(left) < len(present):
                        self._own("instance_uuids")[row] = left
                        self._own("num_instances")[row] -= len(present) - len(left)
                        self._altered.add(row)
        return hosts.keys() - rows_of.keys()

    def cells_that_differ(self, hosts: InstancesOfHosts) -> set[str]:
        """Return the cells of hosts whose reported instances differ from these.

        If ``drop_instances`` changed a host, its cell has to send a full update.
        """
        differing = set()
        with self._lock:
            for host, rows in self._rows_of_hosts(hosts).items():
                for row in rows:
                    if set(self._columns["instance_uuids"][row] or ()) == set(hosts[host]):
                        continue
                    cell = self._cells[self._cell_uuids[self._columns["cell"][row]]]
                    differing.add(cell.uuid)
                    if row in self._altered:
                        cell.seq = 0
        return differing

    def hosts_elsewhere(self, hosts: Collection[str], cell_uuid: str) -> set[str]:
        """Return those of these hosts that are in another cell."""
        with self._lock:
            names, cells = self._columns["host"], self._columns["cell"]
            return {
                names[row]
                for row in self._row_of.values()
                if names[row] in hosts and self._cell_uuids[cells[row]] != cell_uuid
            }

    def _rows_of_hosts(self, hosts: Collection[str]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        names = self._columns["host"]
        for row in self._row_of.values():
            if names[row] in hosts:
                found.setdefault(names[row], []).append(row)
        return found

    # Rows -----------------------------------------------------------------------------------------

    def _cell(self, uuid: str) -> _Cell:
        cell = self._cells.get(uuid)
        if cell is None:
            if uuid not in self._cell_uuids:
                self._cell_uuids.append(uuid)
            cell = self._cells[uuid] = _Cell(uuid, self._cell_uuids.index(uuid), self._clock())
        return cell

    def _hear(self, cell: _Cell) -> None:
        now = cell.heard_at = self._clock()
        if now - self._heard_any_at >= self._cut_off_seconds:
            self._cut_off_until = now
        self._heard_any_at = now

    @property
    def _cut_off_seconds(self) -> float:
        """Seconds without a word of any cell after which this process counts as cut off.

        Less than a cell's, since another one may have been the last that was heard.
        """
        seconds: float = self._conf.service_down_time / 2
        return seconds

    def _is_heard(self, uuid: str) -> bool:
        cell = self._cells.get(uuid)
        return cell is not None and self._clock() - cell.heard_at < self._conf.service_down_time

    def _by_cell(self, question: Callable[[str], bool]) -> Numbers:
        return np.fromiter((question(uuid) for uuid in self._cell_uuids), np.bool_)

    def _uuid_at(self, row: int) -> str:
        uuid: str = self._columns["uuid"][row]
        return uuid

    def _write(self, cell: _Cell, batch: HostStateBatch, values: Mapping[str, Column]) -> None:
        if not batch.node_uuids:
            return
        rows = [self._row_for(cell, uuid) for uuid in batch.node_uuids]
        self._altered.difference_update(rows)
        self._own("cell")[rows] = cell.index
        for name, given in values.items():
            column = self._own(name)
            if isinstance(column, np.ndarray):
                column[rows] = given
            else:
                for row, value in zip(rows, given, strict=True):
                    column[row] = value
        if self._in_flight:
            for row, shown in zip(rows, batch.attributes.get("instance_uuids") or (), strict=False):
                self._settle(row, self._in_flight.keys() & set(shown or ()))
        if self._demands:
            self._drop_counted_demands(set(rows))

    def _foreign_among(self, cell: _Cell, uuids: Iterable[str]) -> set[str]:
        """Return the nodes that another cell has; this one is asked again once it has not."""
        foreign = set()
        for uuid in uuids:
            row = self._row_of.get(uuid)
            if row is None or row in cell.rows:
                continue
            foreign.add(uuid)
            if cell.uuid not in self._refused.setdefault(uuid, set()):
                self._refused[uuid].add(cell.uuid)
                owner = self._cell_uuids[self._columns["cell"][row]]
                LOG.warning(
                    "Compute node %s, reported by cell %s, belongs to cell %s; ignoring it",
                    uuid,
                    cell.uuid,
                    owner,
                )
        return foreign

    def _row_for(self, cell: _Cell, uuid: str) -> int:
        row = self._row_of.get(uuid)
        if row is None:
            row = self._row_of[uuid] = self._new_row()
            self._version += 1
        cell.rows.add(row)
        return row

    def _new_row(self) -> int:
        if self._free:
            return self._free.pop()
        if self._rows_end == self._rows_max:
            for name, column in self._columns.items():
                self._columns[name] = host_store_columns.doubled(name, column)
            self._in_snapshots.clear()
            self._rows_max *= 2
        self._rows_end += 1
        return self._rows_end - 1

    def _remove(self, cell: _Cell, uuids: Iterable[str]) -> None:
        for uuid in uuids:
            row = self._row_of.get(uuid)
            if row is None or row not in cell.rows:  # gone already, or moved to another cell
                continue
            self._forget(self._columns["in_flight_uuids"][row])
            self._forget([each for each, demand in self._demands.items() if demand.row == row])
            self._own("service_up")[row] = False
            self._own("instance_uuids")[row] = ()
            del self._row_of[uuid]
            self._version += 1
            cell.rows.remove(row)
            self._free.append(row)
            for other in self._refused.pop(uuid, ()):
                if other in self._cells:
                    self._cells[other].seq = 0  # its next push shows a gap, and it is asked for all

    def _own(self, name: str) -> Any:
        """Return a writable column, copied if a snapshot uses it."""
        if name in self._in_snapshots:
            self._columns[name] = self._columns[name].copy()
            self._in_snapshots.remove(name)
        return self._columns[name]

    # Claimed but not yet reported -----------------------------------------------------------------

    def _forget(self, instance_uuids: Iterable[str]) -> None:
        for uuid in instance_uuids:
            self._demands.pop(uuid, None)
            self._drop_in_flight(uuid)

    def _drop_counted_demands(self, rows: Collection[int]) -> None:
        shown, placed = self._columns["instance_uuids"], self._columns["placed_instances"]
        for uuid, demand in list(self._demands.items()):
            row = demand.row
            if row in rows and demand.is_counted(uuid, shown[row] or (), placed[row]):
                del self._demands[uuid]

    def _settle(self, row: int, instance_uuids: Iterable[str]) -> None:
        """Count instances as the cell reports them; their demands, as their host's agent does."""
        for uuid in instance_uuids:
            self._drop_in_flight(uuid)
            if uuid in self._demands and self._demands[uuid].row != row:
                del self._demands[uuid]

    def _drop_in_flight(self, uuid: str) -> None:
        row, _until = self._in_flight.pop(uuid, (None, 0.0))
        if row is not None:
            self._own("in_flight")[row] -= 1
            present = self._own("in_flight_uuids")
            present[row] = tuple(other for other in present[row] if other != uuid)

    def _forget_expired(self) -> None:
        now = self._clock()
        expired = []
        for uuid, (_row, until) in self._in_flight.items():  # ordered by expiry
            if until > now:
                break
            expired.append(uuid)
        expired += [uuid for uuid, demand in self._demands.items() if demand.until <= now]
        self._forget(expired)


def _places(texts: list[str], text: str) -> Iterator[int]:
    """Yield the positions of a text; ``list.index`` is the fastest scan of 100,000 entries."""
    place = -1
    with contextlib.suppress(ValueError):
        while True:
            place = texts.index(text, place + 1)
            yield place


def _with_claimed(
    columns: Mapping[str, Column], demands: Iterable[tuple[int, CellDemand]]
) -> dict[str, Column]:
    """Return the NUMA and device columns with the demands of instances on rows counted as used."""
    shown = [list(columns[name]) for name in Cells._fields]
    for row, demand in demands:
        limits = {name: float(columns[name][row]) for name in RATIOS}
        cells = demand.used_up(Cells(*(column[row] for column in shown)), limits, None)
        for column, value in zip(shown, cells, strict=True):
            column[row] = value
    return dict(zip(Cells._fields, shown, strict=True))
