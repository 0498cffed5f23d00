"""Read-only table of a decision's hosts, column by column, as seen by filters and weighers."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from objects.aggregate import Aggregate
from objects.hosts import host_attributes
from objects.hosts.host_attributes import HostAttribute, Kind
from objects.traces.host_sample import evenly_spread
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.hosts.host_state import HostState
from scheduler.hosts.packed_uuids import which_have_any
from scheduler.hosts.usage import Positions
from scheduler.plugins import plugin_calls

Numbers = npt.NDArray[Any]
Column = Numbers | list[Any]
Mask = npt.NDArray[np.bool_]

DTYPES: dict[Kind, type] = {Kind.INT: np.int64, Kind.FLOAT: np.float64, Kind.BOOL: np.bool_}
"""Attribute kinds stored as arrays; the others are lists."""


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """All hosts known to a scheduler at one moment; immutable.

    ``columns`` holds the host attributes, ``uuid``, ``host``, ``nodename``, the index ``cell`` into
    ``cells`` (UUIDs), and ``in_flight_uuids``, the claimed but unreported instances.
    """

    columns: Mapping[str, Column]
    cells: tuple[str, ...]
    cluster_metadata: ClusterMetadata


class AddedInstances:
    """Instances that decisions added to hosts; written by the ledger, read by the table."""

    def __init__(self) -> None:
        self.at: dict[int, list[str]] = defaultdict(list)
        self.positions_of: dict[str, list[int]] = {}

    def add(self, position: int, instance_uuid: str) -> None:
        self.at[position].append(instance_uuid)
        self.positions_of.setdefault(instance_uuid, []).append(position)

    def remove(self, position: int, instance_uuid: str) -> None:
        self.at[position].remove(instance_uuid)
        self.positions_of[instance_uuid].remove(position)


class HostTable:
    """Hosts of one decision by position, in the order of placement's candidates; read-only.

    ``hosts.free_ram_mb`` is the column of an attribute: an array for numbers and booleans, else a
    list. The names are those of ``HostState``. Columns include the usage of the instances selected
    so far in this request, which ``HostLedger`` counts: it writes to ``columns`` and ``added``.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        rows: Positions,
        columns: dict[str, Column] | None = None,
        added: AddedInstances | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._rows = rows
        self._columns = {} if columns is None else columns
        self._added = AddedInstances() if added is None else added
        self._shown: dict[str, Column] = {}  # the same columns, arrays read-only
        self._positions_of_host: dict[str, list[int]] | None = None
        self._reported_at: dict[str, list[int]] = {}  # positions by instance

    @classmethod
    def from_values(
        cls, hosts: Sequence[Mapping[str, Any]], aggregates: Iterable[Aggregate] = ()
    ) -> Self:
        """Return a table of given hosts, for tests of plugins; missing values get defaults.

        A host may have any attribute of ``HostState``; ``host`` and ``nodename`` default to host1,
        host2 and so on.
        """
        columns: dict[str, Column] = {
            attribute.name: _column(attribute, hosts)
            for attribute in host_attributes.HOST_ATTRIBUTES
        }
        names = [f"host{number}" for number in range(1, len(hosts) + 1)]
        for key in ("uuid", "host", "nodename"):
            columns[key] = [host.get(key, name) for host, name in zip(hosts, names, strict=True)]
        cells = sorted({host.get("cell_uuid", "") for host in hosts})
        indexes = [cells.index(host.get("cell_uuid", "")) for host in hosts]
        columns["cell"] = np.array(indexes, dtype=np.int64)
        columns["in_flight_uuids"] = [()] * len(hosts)
        snapshot = Snapshot(columns, tuple(cells), ClusterMetadata(aggregates=aggregates))
        return cls(snapshot, np.arange(len(hosts)))

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[HostState]:
        states = (HostState(self, position) for position in range(len(self)))
        return plugin_calls.in_turn(states)

    def __getitem__(self, position: int) -> HostState:
        return HostState(self, int(position))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.column(name)

    # Reading --------------------------------------------------------------------------------------

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot behind this table."""
        return self._snapshot

    @property
    def rows(self) -> Positions:
        """Rows of these hosts in the columns of ``snapshot``; do not modify."""
        return self._rows

    @property
    def touched(self) -> Collection[int]:
        """Positions with added instances, whose columns may differ from ``snapshot``."""
        return self._added.at.keys()

    @property
    def cluster_metadata(self) -> ClusterMetadata:
        """The cells and aggregates used for this decision."""
        return self._snapshot.cluster_metadata

    def column(self, name: str) -> Column:
        """Return one value per host. Raises ``AttributeError`` for an unknown name."""
        column = self._shown.get(name)
        if column is None:
            column = self._columns.get(name)
            if column is None:
                column = self._columns[name] = self.load(name)
            if isinstance(column, np.ndarray):
                column = column.view()
                column.flags.writeable = False
            self._shown[name] = column
        return column

    def value(self, name: str, position: int) -> Any:
        """Return one host's value as a plain Python value."""
        column = self._columns.get(name)
        if column is None:
            position = self._rows.item(position)
            if name == "cell_uuid":
                return self._snapshot.cells[self._snapshot.columns["cell"][position]]
            column = self._snapshot.columns[name]
        return column.item(position) if isinstance(column, np.ndarray) else column[position]

    def derived(self, name: str, position: int) -> Any:
        """Return one host's value of a column that follows from the request's resources alone.

        Raises ``AttributeError`` if there is none.
        """
        if name.startswith("_") or name not in self._columns:
            raise AttributeError(f"hosts have no attribute {name!r}")
        return self.value(name, position)

    def aggregates_at(self, position: int) -> tuple[Aggregate, ...]:
        """Return the aggregates of one host."""
        return self.cluster_metadata.aggregates_of(self.value("host", position))

    def instances_at(self, position: int) -> frozenset[str]:
        """Return the UUIDs of the instances on one host."""
        return frozenset(
            (
                *(self.value("instance_uuids", position) or ()),
                *self.value("in_flight_uuids", position),
                *self._added.at.get(position, ()),
            )
        )

    def named(self, names: Collection[str]) -> Mask:
        """Return a mask of the hosts with one of these names."""
        mask = np.zeros(len(self), dtype=np.bool_)
        mask[self.positions_named(names)] = True
        return mask

    def positions_named(self, names: Iterable[str]) -> list[int]:
        """Return the positions of hosts by name; a host with several nodes has several."""
        if self._positions_of_host is None:
            self._positions_of_host = defaultdict(list)
            for position, name in enumerate(self.column("host")):
                self._positions_of_host[name].append(position)
        known = self._positions_of_host
        return [position for name in names for position in known.get(name, ())]

    def sample_names(self, positions: Positions) -> list[str]:
        """Return the names of a sample of the hosts at some positions."""
        names = (self.value("host", position) for position in evenly_spread(positions).tolist())
        return list(dict.fromkeys(names))  # a host may have several nodes

    def in_aggregate(self, aggregate: Aggregate) -> Mask:
        """Return a mask of the hosts in an aggregate."""
        return self.named(set(aggregate.hosts))

    def count_instances(self, uuids: Collection[str]) -> Numbers:
        """Return how many of these instances each host has."""
        wanted = set(uuids)
        self._locate(wanted - self._reported_at.keys())
        reported, added = self._reported_at, self._added.positions_of
        positions: list[int] = []
        for uuid in wanted:
            more = added.get(uuid)
            positions.extend({*reported[uuid], *more} if more else reported[uuid])
        return np.bincount(np.array(positions, dtype=np.int64), minlength=len(self))

    def positions_of(self, rows: Mapping[str, int]) -> dict[str, int]:
        """Return the positions of nodes, given their rows; nodes not in this table are omitted."""
        if not rows:
            return {}
        uuids = self._snapshot.columns["uuid"]
        position_of = np.full(len(uuids), -1, dtype=np.int64)
        position_of[self._rows] = np.arange(len(self))
        found = {
            uuid: int(position_of[row])
            for uuid, row in rows.items()
            if row < len(uuids) and uuids[row] == uuid
        }
        return {uuid: position for uuid, position in found.items() if position >= 0}

    def take(self, positions: Positions) -> HostTable:
        """Return a table of some of these hosts; only allowed before instances are added."""
        assert not self._added.at
        return HostTable(self._snapshot, self._rows[positions], self.loaded(positions))

    # For the ledger -------------------------------------------------------------------------------

    def loaded(self, positions: Positions | slice) -> dict[str, Column]:
        """Return the writable arrays that were read so far; a slice shares their memory."""
        return {
            name: column[positions]
            for name, column in self._columns.items()
            if isinstance(column, np.ndarray)
        }

    def load(self, name: str) -> Column:
        """Return a new column from the snapshot. Raises ``AttributeError`` for an unknown name."""
        if name == "cell_uuid":
            cells = self._snapshot.cells
            return [cells[index] for index in self.column("cell")]
        column = self._snapshot.columns.get(name)
        if column is None:
            raise AttributeError(f"hosts have no attribute {name!r}")
        if isinstance(column, np.ndarray):
            return column[self._rows]
        if len(self) == 0:
            return []
        found = itemgetter(*self._rows.tolist())(column)
        return [found] if len(self) == 1 else list(found)

    def _locate(self, uuids: set[str]) -> None:
        if not uuids:
            return
        where: dict[str, list[int]] = {uuid: [] for uuid in uuids}
        in_flight = self.column("in_flight_uuids")
        positions = {
            *which_have_any(list(self.column("instance_uuids")), uuids),
            *(at for at, some in enumerate(in_flight) if some and not uuids.isdisjoint(some)),
        }
        for position in sorted(positions):
            present = (*(self.value("instance_uuids", position) or ()), *in_flight[position])
            for uuid in uuids.intersection(present):
                where[uuid].append(position)
        self._reported_at.update(where)


def _column(attribute: HostAttribute, hosts: Sequence[Mapping[str, Any]]) -> Column:
    values = [host.get(attribute.name, attribute.default) for host in hosts]
    dtype = DTYPES.get(attribute.kind)
    return values if dtype is None else np.array(values, dtype)
