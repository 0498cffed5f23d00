"""Hosts as of the last refresh, and the instances placed since, by the hosts' own reports.

Used by drivers that neither query placement nor follow each push from the cells.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from oslo_config import cfg

from objects.allocations.allocation_candidates import AllocationRequest
from objects.hosts import host_attributes
from objects.request_spec import RequestSpec
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_table import Column, HostTable, Snapshot
from scheduler.hosts.numa.numa_usage import CellDemand
from scheduler.hosts.store.host_store import HostStore
from scheduler.hosts.usage import Positions, Usage

Figures = dict[str, npt.NDArray[Any]]

Placement = tuple[str, str]
"""A node and the instance placed on it."""

_COLUMNS = (
    *host_attributes.BY_NAME,
    *("uuid", "host", "nodename", "cell", "cell_enabled", "in_flight_uuids"),
)
_CONSUMED = (
    *("vcpus_used", "free_ram_mb", "free_disk_mb", "disk_mb_used"),
    *("num_instances", "num_io_ops", "numa_topology", "pci_stats"),
)
"""Columns that change when an instance is placed on a host."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Placed:
    """The placements of one decision, and until when they count without being reported."""

    spec: RequestSpec
    placements: Sequence[Placement]
    until: float


class CachedHosts:
    """A cache of all hosts. Thread-safe; ``clock`` is a monotonic clock in seconds.

    A placement counts until a refresh finds the instance in the host's report, or for
    ``[scheduler] claimed_instance_seconds``.
    """

    def __init__(
        self, conf: cfg.ConfigOpts, *, host_store: HostStore, clock: Callable[[], float]
    ) -> None:
        self._conf = conf
        self._host_store = host_store
        self._clock = clock
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._row_of: dict[str, int] = {}
        self._placed: list[_Placed] = []

    def refresh(self) -> None:
        """Reload the hosts."""
        hosts = self._host_store.view_all()
        columns: dict[str, Column] = {name: hosts.column(name) for name in _COLUMNS}
        row_of = {uuid: row for row, uuid in enumerate(columns["uuid"])}
        with self._lock:
            self._snapshot = dataclasses.replace(hosts.snapshot, columns=columns)
            self._row_of = row_of
            now = self._clock()
            self._placed = [placed for placed in self._placed if placed.until > now]
            for placed in self._placed:
                self._show(placed.spec, filter(self._is_unreported, placed.placements))

    def ledger(self, spec: RequestSpec) -> HostLedger:
        """Return all hosts for one decision; load them if there are none yet."""
        if not self._row_of:
            self._load()
        with self._lock:
            return self._ledger(np.arange(len(self._row_of)), spec)

    def place(self, spec: RequestSpec, placements: Sequence[Placement]) -> None:
        """Count instances of a request as placed on these nodes."""
        until = self._clock() + self._conf.scheduler.claimed_instance_seconds
        placed = _Placed(spec, placements, until)
        with self._lock:
            self._placed.append(placed)
            self._show(spec, placements)

    def _load(self) -> None:
        with self._loading:  # concurrent first requests load only once
            if not self._row_of:
                self.refresh()

    def _ledger(self, rows: np.ndarray, spec: RequestSpec) -> HostLedger:
        assert self._snapshot is not None
        columns = self._snapshot.columns
        changes = changes_of(spec)
        figures = {name: np.asarray(columns[name])[rows] for name in changes}
        demand = CellDemand.of(spec, self._conf)
        return HostLedger(HostTable(self._snapshot, rows), ReportedUsage(figures, changes), demand)

    def _show(self, spec: RequestSpec, placements: Iterable[Placement]) -> None:
        """Consume resources on copied columns: pending decisions use the current snapshot."""
        known = [(self._row_of[node], uuid) for node, uuid in placements if node in self._row_of]
        if not known or self._snapshot is None:
            return
        rows = sorted({row for row, _uuid in known})
        position_of = {row: position for position, row in enumerate(rows)}
        ledger = self._ledger(np.array(rows), spec)
        columns = dict(self._snapshot.columns)
        uuids = columns["in_flight_uuids"] = list(columns["in_flight_uuids"])
        for row, uuid in known:
            ledger.consume(position_of[row], uuid)
            uuids[row] += (uuid,)
        for name in _CONSUMED:
            column = columns[name] = columns[name].copy()
            for row, position in position_of.items():
                column[row] = ledger.hosts.value(name, position)
        self._snapshot = dataclasses.replace(self._snapshot, columns=columns)

    def _is_unreported(self, placement: Placement) -> bool:
        node_uuid, instance_uuid = placement
        row = self._row_of.get(node_uuid)
        assert self._snapshot is not None
        return row is not None and instance_uuid not in (
            self._snapshot.columns["instance_uuids"][row] or ()
        )


def changes_of(spec: RequestSpec) -> dict[str, int]:
    """Return how an instance changes a host's reported amounts; swap is not counted."""
    disk_mb = spec.disk_gb * 1024
    return {
        "vcpus_used": spec.flavor.vcpus,
        "free_ram_mb": -spec.flavor.memory_mb,
        "free_disk_mb": -disk_mb,
        "disk_mb_used": disk_mb,
    }


class ReportedUsage(Usage):
    """The reported amounts of n hosts, owned by one decision.

    There are no candidates: a position stands for itself. Every instance fits; filters check the
    capacity of hosts (RamFilter, CoreFilter, DiskFilter).
    """

    def __init__(self, figures: Figures, changes: dict[str, int]) -> None:
        # Does not call the base class, which needs inventories; this has reported amounts.
        self._figures = {name: np.array(figures[name]) for name in changes}
        self._changes = changes

    def take(self, positions: Positions) -> ReportedUsage:
        figures = {name: column[positions] for name, column in self._figures.items()}
        return ReportedUsage(figures, self._changes)

    def attributes(self) -> Figures:
        return {name: column.copy() for name, column in self._figures.items()}

    def attributes_at(self, position: int) -> dict[str, float]:
        return {name: column[position] for name, column in self._figures.items()}

    def candidate_at(self, position: int) -> int:
        return position

    def request(self, candidate: int) -> AllocationRequest:
        return {}

    def add(self, position: int) -> int:
        for name, change in self._changes.items():
            self._figures[name][position] += change
        return position

    def subtract(self, position: int, candidate: int) -> None:
        for name, change in self._changes.items():
            self._figures[name][position] -= change

    def refuse(self, position: int, candidate: int) -> bool:
        return False

    def fits(self, position: int) -> bool:
        return True
