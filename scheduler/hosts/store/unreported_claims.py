"""Claimed instances that their hosts do not report yet, and what they need of NUMA and devices."""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from oslo_config import cfg

from scheduler.hosts.host_table import Column
from scheduler.hosts.numa.numa_usage import RATIOS, CellDemand, Cells
from scheduler.hosts.store.copy_on_write import CopyOnWriteColumns


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


class UnreportedClaims:
    """Counts claimed instances in the columns of the host store. Not thread-safe.

    An instance counts until its cell reports it, its demand until its host's agent counts it; both
    at most for ``[scheduler] claimed_instance_seconds``.
    """

    def __init__(
        self, conf: cfg.ConfigOpts, columns: CopyOnWriteColumns, *, clock: Callable[[], float]
    ) -> None:
        self._conf = conf
        self._columns = columns
        self._clock = clock
        self._in_flight: dict[str, tuple[int, float]] = {}  # instance -> row, expiry
        self._demands: dict[str, _Demand] = {}  # by instance

    def add(self, row: int, instance_uuid: str, demand: CellDemand | None) -> None:
        """Count an instance on a host, and on no other any more.

        Without a demand, one that is known for the same host stays.
        """
        until = self._clock() + self._conf.scheduler.claimed_instance_seconds
        self._settle(row, instance_uuid)
        self._in_flight[instance_uuid] = (row, until)
        if demand is not None:
            self._demands[instance_uuid] = _Demand(row, demand, until)
        self._columns.writable("in_flight")[row] += 1
        self._columns.writable("in_flight_uuids")[row] += (instance_uuid,)

    def forget(self, instance_uuids: Iterable[str]) -> None:
        """Undo ``add`` for these instances."""
        for uuid in instance_uuids:
            self._demands.pop(uuid, None)
            self._uncount(uuid)

    def forget_host(self, row: int) -> None:
        """Drop all of a host."""
        self.forget(self._columns["in_flight_uuids"][row])
        self.forget([uuid for uuid, demand in self._demands.items() if demand.row == row])

    def forget_expired(self) -> None:
        """Drop what was never reported."""
        now = self._clock()
        expired = []
        for uuid, (_row, until) in self._in_flight.items():  # ordered by expiry
            if until > now:
                break
            expired.append(uuid)
        expired += [uuid for uuid, demand in self._demands.items() if demand.until <= now]
        self.forget(expired)

    def hosts_reported(self, rows: Collection[int], instances: Sequence[Iterable[str]]) -> None:
        """Drop what the newest reports of these hosts count; ``instances`` are those on each."""
        if self._in_flight:
            for row, uuids in zip(rows, instances, strict=False):  # an older cell names none
                for uuid in self._in_flight.keys() & set(uuids or ()):
                    self._settle(row, uuid)
        if not self._demands:
            return
        shown, placed = self._columns["instance_uuids"], self._columns["placed_instances"]
        reported = set(rows)
        for uuid, demand in list(self._demands.items()):
            row = demand.row
            if row in reported and demand.is_counted(uuid, shown[row] or (), placed[row]):
                del self._demands[uuid]

    def removed_from_host(self, instance_uuids: Iterable[str]) -> None:
        """Stop counting instances; their demands stay until the next report of the host.

        A report made before the removal may still be on its way, and counts them as used.
        """
        for uuid in instance_uuids:
            self._uncount(uuid)
            if uuid in self._demands:
                self._demands[uuid].is_shown = True

    def demands(self) -> list[tuple[int, CellDemand]]:
        """Return the rows and needs of all demands."""
        return [(each.row, each.needs) for each in self._demands.values()]

    def _settle(self, row: int, uuid: str) -> None:
        """Count an instance as the cell reports it; its demand, as its host's agent does."""
        self._uncount(uuid)
        if uuid in self._demands and self._demands[uuid].row != row:
            del self._demands[uuid]

    def _uncount(self, uuid: str) -> None:
        row, _until = self._in_flight.pop(uuid, (None, 0.0))
        if row is not None:
            self._columns.writable("in_flight")[row] -= 1
            present = self._columns.writable("in_flight_uuids")
            present[row] = tuple(other for other in present[row] if other != uuid)


def with_demands(
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
