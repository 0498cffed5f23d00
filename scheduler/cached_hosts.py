"""All hosts as they were at the last refresh, with what was placed since.

A driver decides on them that neither asks placement nor follows every push.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from oslo_config import cfg

from objects import host_attributes
from objects.request_spec import RequestSpec
from scheduler.cell_usage import CellDemand
from scheduler.fleet import Fleet
from scheduler.host_table import Column, HostTable, Snapshot
from scheduler.reported_usage import ReportedUsage, changes_of

Placement = tuple[str, str]
"""A node, and the instance that was placed there."""

_COLUMNS = (
    *host_attributes.BY_NAME,
    *("uuid", "host", "nodename", "cell", "cell_enabled", "in_flight_uuids"),
)
_CONSUMED = (
    *("vcpus_used", "free_ram_mb", "free_disk_mb", "disk_mb_used"),
    *("num_instances", "num_io_ops", "numa_topology", "pci_stats"),
)
"""What changes when an instance is placed on a host."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Placed:
    """What one decision placed, and until when it counts although no report shows it."""

    spec: RequestSpec
    placements: Sequence[Placement]
    until: float


class CachedHosts:
    """Thread-safe; ``clock`` gives seconds of a clock that only goes forward.

    What was placed is shown until a refresh finds the instance among those that the cell reports of
    the host, or for ``[scheduler] claimed_instance_seconds``.
    """

    def __init__(self, conf: cfg.ConfigOpts, *, fleet: Fleet, clock: Callable[[], float]) -> None:
        self._conf = conf
        self._fleet = fleet
        self._clock = clock
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._row_of: dict[str, int] = {}
        self._placed: list[_Placed] = []

    def refresh(self) -> None:
        """Take over the hosts as they are known now."""
        hosts = self._fleet.view_all()
        columns: dict[str, Column] = {name: hosts.column(name) for name in _COLUMNS}
        row_of = {uuid: row for row, uuid in enumerate(columns["uuid"])}
        with self._lock:
            self._snapshot = dataclasses.replace(hosts.snapshot, columns=columns, demands={})
            self._row_of = row_of
            now = self._clock()
            self._placed = [placed for placed in self._placed if placed.until > now]
            for placed in self._placed:
                self._show(placed.spec, filter(self._is_unreported, placed.placements))

    def table(self, spec: RequestSpec) -> HostTable:
        """Return all hosts for one decision; load them when there are none yet."""
        if not self._row_of:
            self._load()
        with self._lock:
            return self._table(np.arange(len(self._row_of)), spec)

    def place(self, spec: RequestSpec, placements: Sequence[Placement]) -> None:
        """Show that instances of a request are on their way to these nodes."""
        until = self._clock() + self._conf.scheduler.claimed_instance_seconds
        placed = _Placed(spec, placements, until)
        with self._lock:
            self._placed.append(placed)
            self._show(spec, placements)

    def _load(self) -> None:
        with self._loading:  # several first requests at once load once
            if not self._row_of:
                self.refresh()

    def _table(self, rows: np.ndarray, spec: RequestSpec) -> HostTable:
        assert self._snapshot is not None
        columns = self._snapshot.columns
        changes = changes_of(spec.flavor)
        figures = {name: np.asarray(columns[name])[rows] for name in changes}
        return HostTable(self._snapshot, rows).with_usage(
            ReportedUsage(figures, changes), CellDemand.of(spec, self._conf)
        )

    def _show(self, spec: RequestSpec, placements: Iterable[Placement]) -> None:
        """Consume on copies of what changes: decisions in hand have the present snapshot."""
        known = [(self._row_of[node], uuid) for node, uuid in placements if node in self._row_of]
        if not known or self._snapshot is None:
            return
        rows = sorted({row for row, _uuid in known})
        position_of = {row: position for position, row in enumerate(rows)}
        hosts = self._table(np.array(rows), spec)
        columns = dict(self._snapshot.columns)
        uuids = columns["in_flight_uuids"] = list(columns["in_flight_uuids"])
        for row, uuid in known:
            hosts.consume(position_of[row], uuid)
            uuids[row] += (uuid,)
        for name in _CONSUMED:
            column = columns[name] = columns[name].copy()
            for row, position in position_of.items():
                column[row] = hosts.value(name, position)
        self._snapshot = dataclasses.replace(self._snapshot, columns=columns)

    def _is_unreported(self, placement: Placement) -> bool:
        node_uuid, instance_uuid = placement
        row = self._row_of.get(node_uuid)
        assert self._snapshot is not None
        return row is not None and instance_uuid not in (
            self._snapshot.columns["instance_uuids"][row] or ()
        )
