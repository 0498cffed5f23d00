"""Column-wise table of a decision's hosts, as seen by filters and weighers."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from objects import host_attributes
from objects.aggregate import Aggregate
from objects.allocation_candidates import AllocationRequest
from objects.host_attributes import HostAttribute, Kind
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.hosts.host_state import HostState
from scheduler.hosts.numa_usage import CellDemand, Cells, CellUsage
from scheduler.hosts.packed_uuids import which_have_any
from scheduler.hosts.usage import Positions, Usage
from scheduler.plugins import plugin_calls

Numbers = npt.NDArray[Any]
Column = Numbers | list[Any]
Mask = npt.NDArray[np.bool_]

DTYPES: dict[Kind, type] = {Kind.INT: np.int64, Kind.FLOAT: np.float64, Kind.BOOL: np.bool_}
"""Attribute kinds stored as arrays; the others are lists."""

_RATIOS = ("cpu_allocation_ratio", "ram_allocation_ratio")


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """All hosts known to a scheduler at one moment; immutable.

    ``columns`` holds the host attributes, ``uuid``, ``host``, ``nodename``, the index ``cell`` into
    ``cells`` (UUIDs), and ``in_flight_uuids``, the claimed but unreported instances. ``demands``
    maps those of them with NUMA or device demands to their row and demand.
    """

    columns: Mapping[str, Column]
    cells: tuple[str, ...]
    facts: ClusterMetadata
    demands: Mapping[str, tuple[int, CellDemand]] = dataclasses.field(default_factory=dict)


class HostTable:
    """Hosts of one decision by position, in the order of placement's candidates.

    ``hosts.free_ram_mb`` is the column of an attribute: an array for numbers and booleans, else a
    list. The names are those of ``HostState``. Columns include the usage of the instances selected
    so far in this request. Read-only for filters and weighers.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        rows: Positions,
        columns: dict[str, Column] | None = None,
        usage: Usage | None = None,
        demand: CellDemand | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._rows = rows
        self._columns = {} if columns is None else columns
        self._usage = usage
        self._demand = demand
        self._cell_usage = None if demand is None else CellUsage(demand)
        self._chosen: dict[int, list[str]] = defaultdict(list)
        self._candidate_of: dict[str, int] = {}  # by selected instance
        self._positions_of_host: dict[str, list[int]] | None = None
        self._positions_of_instance: dict[str, list[int]] = {}
        if usage is not None:
            self._columns.update(usage.attributes())

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
        return self._chosen.keys()

    @property
    def facts(self) -> ClusterMetadata:
        """The cells and aggregates used for this decision."""
        return self._snapshot.facts

    def column(self, name: str) -> Column:
        """Return one value per host. Raises ``AttributeError`` for an unknown name."""
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = self._load(name)
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

    def aggregates_at(self, position: int) -> tuple[Aggregate, ...]:
        """Return the aggregates of one host."""
        return self.facts.aggregates_of(self.value("host", position))

    def instances_at(self, position: int) -> frozenset[str]:
        """Return the UUIDs of the instances on one host."""
        return frozenset(
            (
                *(self.value("instance_uuids", position) or ()),
                *self.value("in_flight_uuids", position),
                *self._chosen.get(position, ()),
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

    def in_aggregate(self, aggregate: Aggregate) -> Mask:
        """Return a mask of the hosts in an aggregate."""
        return self.named(set(aggregate.hosts))

    def count_instances(self, uuids: Collection[str]) -> Numbers:
        """Return how many of these instances each host has."""
        wanted = set(uuids)
        self._locate(wanted - self._positions_of_instance.keys())
        located = self._positions_of_instance
        positions = [position for uuid in wanted for position in located[uuid]]
        return np.bincount(np.array(positions, dtype=np.int64), minlength=len(self))

    # For drivers ----------------------------------------------------------------------------------

    def fits(self, position: int) -> bool:
        """Return whether one more instance of the request fits on a host."""
        return self._usage is None or self._usage.fits(position)

    def fit_mask(self) -> Mask:
        """Evaluate ``fits`` for all hosts."""
        if self._usage is None:
            return np.ones(len(self), dtype=np.bool_)
        return self._usage.fit_mask()

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

    def with_usage(self, usage: Usage, demand: CellDemand | None = None) -> HostTable:
        """Return the same hosts with free and used amounts from placement.

        ``demand`` is what each instance needs of NUMA cells and devices. If it is given, claimed
        but unreported usage of these counts as used.
        """
        columns = {
            name: column for name, column in self._columns.items() if name not in Cells._fields
        }
        snapshot = self._snapshot if demand is None else _with_claimed_cells(self._snapshot)
        return HostTable(snapshot, self._rows, columns, usage, demand)

    def take(self, positions: Positions) -> HostTable:
        """Return a table of some of these hosts; only allowed before ``consume``."""
        assert not self._chosen
        kept: dict[str, Column] = {
            name: column[positions]
            for name, column in self._columns.items()
            if isinstance(column, np.ndarray)
        }
        usage = None if self._usage is None else self._usage.take(positions)
        return HostTable(self._snapshot, self._rows[positions], kept, usage, self._demand)

    def consume(self, position: int, instance_uuid: str) -> None:
        """Add one more instance of this request to a host."""
        if self._usage is not None:
            self._candidate_of[instance_uuid] = self._usage.add(position)
        self._chosen[position].append(instance_uuid)
        located = self._positions_of_instance.get(instance_uuid)
        if located is not None and position not in located:
            located.append(position)
        self._show(position, 1)
        if self._cell_usage is not None:
            self._show_cells(position, self._with_one_more(position, instance_uuid))

    def assume(self, position: int, instance_uuid: str, amounts: Mapping[str, int]) -> None:
        """Add another request's instance, which uses these amounts, to a host."""
        if self._usage is not None:
            self._usage.use(position, amounts)
        self._chosen[position].append(instance_uuid)
        located = self._positions_of_instance.get(instance_uuid)
        if located is not None and position not in located:
            located.append(position)
        self._show(position, 1)

    def assume_used(self, position: int, amounts: Mapping[str, int]) -> None:
        """Mark amounts of a host as used by other requests' unclaimed selections."""
        if self._usage is not None:
            self._usage.use(position, amounts)
            self._show_usage(position)

    def undo(self, position: int, instance_uuid: str) -> None:
        """Undo one ``consume``."""
        if self._cell_usage is not None:
            self._show_cells(position, self._cell_usage.remove(position, instance_uuid))
        if self._usage is not None:
            self._usage.subtract(position, self._candidate_of.pop(instance_uuid))
        self._chosen[position].remove(instance_uuid)
        located = self._positions_of_instance.get(instance_uuid)
        if located is not None and instance_uuid not in self.instances_at(position):
            located.remove(position)
        self._show(position, -1)

    def refuse(self, position: int, instance_uuid: str) -> bool:
        """Undo a ``consume`` after a refused claim; return whether the host has candidates left."""
        has_others = self._usage is not None and self._usage.refuse(
            position, self._candidate_of[instance_uuid]
        )
        self.undo(position, instance_uuid)
        return has_others

    def candidate_of(self, instance_uuid: str) -> int:
        """Return the index of the candidate used for an instance."""
        return self._candidate_of[instance_uuid]

    def candidate_at(self, position: int) -> int:
        """Return the index of the next candidate on a host."""
        assert self._usage is not None
        return self._usage.candidate_at(position)

    def prune(self, position: int, by: str, keep: Callable[[AllocationRequest], bool]) -> bool:
        """Remove a host's candidates that a filter rejects; return whether any is left.

        A later call ``by`` the same filter may restore some.
        """
        if self._usage is None:
            return True
        before = self._usage.candidate_at(position)
        has_some = self._usage.prune(position, by, keep)
        if self._usage.candidate_at(position) != before:
            self._show_usage(position)
        return has_some

    @property
    def has_several_candidates(self) -> bool:
        """Whether placement offers several candidates for a host, or uses other providers."""
        return self._usage is not None and self._usage.has_several_candidates

    def _show(self, position: int, more: int) -> None:
        self.column("num_instances")[position] += more
        self.column("num_io_ops")[position] += more
        self._show_usage(position)

    def _show_usage(self, position: int) -> None:
        if self._usage is not None:
            for name, value in self._usage.attributes_at(position).items():
                self._columns[name][position] = value

    def _with_one_more(self, position: int, instance_uuid: str) -> Cells:
        assert self._cell_usage is not None
        allocations = None
        if self._usage is not None:
            allocations = self._usage.allocations(self._candidate_of[instance_uuid])
        return self._cell_usage.add(
            position,
            instance_uuid,
            Cells(self.value("numa_topology", position), self.value("pci_stats", position)),
            limits={name: self.value(name, position) for name in _RATIOS},
            allocations=allocations,
        )

    def _show_cells(self, position: int, cells: Cells) -> None:
        for name, value in cells._asdict().items():
            self.column(name)[position] = value

    def _load(self, name: str) -> Column:
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
            for uuid in uuids & self.instances_at(position):
                where[uuid].append(position)
        for position, chosen in self._chosen.items():
            for uuid in uuids.intersection(chosen):
                if position not in where[uuid]:
                    where[uuid].append(position)
        self._positions_of_instance.update(where)


def _with_claimed_cells(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot in which claimed but unreported NUMA and device usage counts."""
    if not snapshot.demands:
        return snapshot
    columns = dict(snapshot.columns)
    shown = [list(columns[name]) for name in Cells._fields]
    for row, demand in snapshot.demands.values():
        limits = {name: float(columns[name][row]) for name in _RATIOS}
        cells = demand.used_up(Cells(*(column[row] for column in shown)), limits, None)
        for column, value in zip(shown, cells, strict=True):
            column[row] = value
    columns.update(zip(Cells._fields, shown, strict=True))
    return dataclasses.replace(snapshot, columns=columns)


def _column(attribute: HostAttribute, hosts: Sequence[Mapping[str, Any]]) -> Column:
    values = [host.get(attribute.name, attribute.default) for host in hosts]
    dtype = DTYPES.get(attribute.kind)
    return values if dtype is None else np.array(values, dtype)
