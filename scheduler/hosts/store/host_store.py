"""The store of all hosts of all cells, updated by pushes; decisions use snapshots of it."""

import contextlib
import dataclasses
import enum
import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
from oslo_config import cfg

from objects.hosts.host_states import HostStateBatch
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.hosts.host_table import Column, HostTable, Snapshot
from scheduler.hosts.numa.numa_usage import CellDemand
from scheduler.hosts.store import host_store_columns
from scheduler.hosts.store.cell_heartbeats import CellHeartbeats
from scheduler.hosts.store.copy_on_write import CopyOnWriteColumns
from scheduler.hosts.store.host_store_columns import ReportedColumns
from scheduler.hosts.store.rows_by_id import NamedIds, RowsById
from scheduler.hosts.store.unreported_claims import UnreportedClaims, with_demands
from scheduler.hosts.tie_order import TieOrder
from scheduler.hosts.usage import Positions

LOG = logging.getLogger(__name__)

InstancesOfHosts = Mapping[str, Collection[str]]
"""Host -> UUIDs of instances."""

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
    seq: int = 0
    restored_as_of: str | None = None
    rows: set[int] = dataclasses.field(default_factory=set)


class HostStore:
    """The hosts, one row per node, one column per attribute. Thread-safe.

    The store is a cache that can be refilled from the cells. Columns used by a snapshot are copied
    on write, so a decision always sees consistent data.
    """

    def __init__(self, conf: cfg.ConfigOpts, *, clock: Callable[[], float]) -> None:
        self._lock = threading.Lock()
        self._cluster_metadata = ClusterMetadata()
        self.heartbeats = CellHeartbeats(conf, clock=clock)
        self._cells: dict[str, _Cell] = {}
        self._cell_uuids: list[str] = []
        self._row_of: dict[str, int] = {}
        self._version = 0  # of _row_of
        self._rows_by_id = RowsById()
        self._columns = CopyOnWriteColumns()
        self._claims = UnreportedClaims(conf, self._columns, clock=clock)
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
                    self.heartbeats.forget(cell.uuid)

    def apply(self, batch: HostStateBatch) -> Outcome:
        """Apply a batch in sequence, and record that the cell was heard from in any case.

        A node of another cell is left out until that cell removes it. Raises ``Invalid`` for a
        batch whose columns have different lengths, without any change.
        """
        values = self._reported.read(batch, nodes_known=len(self._row_of))
        with self._lock:
            cell = self._cell(batch.cell_uuid)
            self.heartbeats.note(cell.uuid)
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

    def forget_seq(self, cell_uuid: str) -> None:
        """Make the next fetch from a cell one of all its hosts."""
        with self._lock:
            if cell_uuid in self._cells:
                self._cells[cell_uuid].seq = 0

    # Which cell has a host ------------------------------------------------------------------------

    def owners(self, node_uuids: Iterable[str] | None = None) -> dict[str, tuple[str, str]]:
        """Return node -> its cell and host, of these nodes or all; unknown nodes are omitted."""
        with self._lock:
            rows = self._row_of if node_uuids is None else self.rows_of(node_uuids)
            hosts = self._columns["host"]
            return {uuid: (self._cell_at(row), hosts[row]) for uuid, row in rows.items()}

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
            columns = self._columns.snapshot()
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
            self.heartbeats.assume(cell.uuid)
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
            self._claims.forget_expired()
            rows = self._rows_by_id.look_up(named, node_uuids, self._row_of, self._version)
            columns = self._columns.snapshot()
            snapshot = Snapshot(columns, tuple(self._cell_uuids), self._cluster_metadata)
            demands = self._claims.demands() if counts_demands else []
            is_up = np.fromiter(map(self.heartbeats.is_up, self._cell_uuids), np.bool_)
        if demands:
            columns.update(with_demands(columns, demands))
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
        own["service_up"] &= is_up[cell]
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
            self._columns.snapshot()  # so that these two can be read without the lock
            texts, uuids = self._columns[column], self._columns["uuid"]
        if any_case:
            texts = [(text or "").lower() for text in texts]
            names = {name.lower() for name in names}
        rows = [row for name in names for row in _places(texts, name)]
        with self._lock:  # rows of removed nodes keep their names
            return {uuids[row] for row in rows if self._row_of.get(uuids[row]) == row}

    def remember(self, claims: Iterable[tuple[str, str]], demand: CellDemand | None = None) -> None:
        """Count (node, instance) pairs as used until a push reports them or they expire.

        ``demand`` is what each instance needs of NUMA cells and devices. Without it, a demand that
        is known for the same host stays.
        """
        with self._lock:
            for node_uuid, instance_uuid in claims:
                row = self._row_of.get(node_uuid)
                if row is not None:
                    self._claims.add(row, instance_uuid, demand)

    def forget(self, instance_uuids: Iterable[str]) -> None:
        """Undo ``remember`` for these instances."""
        with self._lock:
            self._claims.forget(instance_uuids)

    def rows_of(self, node_uuids: Iterable[str]) -> dict[str, int]:
        """Return the rows of these nodes in a current snapshot; unknown nodes are omitted."""
        rows = self._row_of
        return {uuid: rows[uuid] for uuid in node_uuids if uuid in rows}

    def host_names(self, node_uuids: Iterable[str]) -> list[str]:
        """Return the names of the hosts of these nodes; unknown nodes are omitted."""
        with self._lock:
            names = self._columns["host"]
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
                self._claims.removed_from_host(gone)
                for row in rows:
                    present = self._columns["instance_uuids"][row] or ()
                    left = [uuid for uuid in present if uuid not in gone]
                    if len(left) < len(present):
                        self._columns.writable("instance_uuids")[row] = left
                        self._columns.writable("num_instances")[row] -= len(present) - len(left)
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
                    cell = self._cells[self._cell_at(row)]
                    differing.add(cell.uuid)
                    if row in self._altered:
                        cell.seq = 0
        return differing

    def hosts_elsewhere(self, hosts: Collection[str], cell_uuid: str) -> set[str]:
        """Return those of these hosts that are in another cell."""
        with self._lock:
            return {
                host
                for host, rows in self._rows_of_hosts(hosts).items()
                if any(self._cell_at(row) != cell_uuid for row in rows)
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
            cell = self._cells[uuid] = _Cell(uuid, self._cell_uuids.index(uuid))
        return cell

    def _cell_at(self, row: int) -> str:
        return self._cell_uuids[self._columns["cell"][row]]

    def _uuid_at(self, row: int) -> str:
        uuid: str = self._columns["uuid"][row]
        return uuid

    def _write(self, cell: _Cell, batch: HostStateBatch, values: Mapping[str, Column]) -> None:
        if not batch.node_uuids:
            return
        rows = [self._row_for(cell, uuid) for uuid in batch.node_uuids]
        self._altered.difference_update(rows)
        self._columns.writable("cell")[rows] = cell.index
        for name, given in values.items():
            column = self._columns.writable(name)
            if isinstance(column, np.ndarray):
                column[rows] = given
            else:
                for row, value in zip(rows, given, strict=True):
                    column[row] = value
        self._claims.hosts_reported(rows, batch.attributes.get("instance_uuids") or ())

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
                LOG.warning(
                    "Compute node %s, reported by cell %s, belongs to cell %s; ignoring it",
                    uuid,
                    cell.uuid,
                    self._cell_at(row),
                )
        return foreign

    def _row_for(self, cell: _Cell, uuid: str) -> int:
        row = self._row_of.get(uuid)
        if row is None:
            row = self._row_of[uuid] = self._columns.new_row()
            self._version += 1
        cell.rows.add(row)
        return row

    def _remove(self, cell: _Cell, uuids: Iterable[str]) -> None:
        for uuid in uuids:
            row = self._row_of.get(uuid)
            if row is None or row not in cell.rows:  # gone already, or moved to another cell
                continue
            self._claims.forget_host(row)
            self._columns.writable("service_up")[row] = False
            self._columns.writable("instance_uuids")[row] = ()
            del self._row_of[uuid]
            self._version += 1
            cell.rows.remove(row)
            self._columns.free_row(row)
            for other in self._refused.pop(uuid, ()):
                if other in self._cells:
                    self._cells[other].seq = 0  # its next push shows a gap, and it is asked for all


def _places(texts: list[str], text: str) -> Iterator[int]:
    """Yield the positions of a text; ``list.index`` is the fastest scan of 100,000 entries."""
    place = -1
    with contextlib.suppress(ValueError):
        while True:
            place = texts.index(text, place + 1)
            yield place
