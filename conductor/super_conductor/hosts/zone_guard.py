"""Refuse changes that would move servers to another availability zone, or take a zone from them.

A server is on a host if it lives, is built or has an alternate there, or is moved from or to there
(alternates of moves, and a resize that waits for its confirmation count). A change that gives hosts
another zone is announced before their cells are asked: no build or move stores a selection of these
hosts until the change is made or withdrawn, so what the cells answer holds (see ``check_zones``).
"""

import contextlib
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import TypeVar

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.cell_conductor.interface import CellConductorAPI
from conductor.common.clock import Clock
from conductor.super_conductor.db import (
    build_requests,
    host_mappings,
    metadata_seq,
    moves,
    request_specs,
    zone_changes,
)
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.hosts.cells import Cells
from objects.selection import Selection

T = TypeVar("T")

ANNOUNCED_SECONDS_MAX = 60.0
"""Seconds after which a change is withdrawn whose conductor did not end it."""
_ROUNDS_MAX = 3


class _NotAnnounced(Exception):
    """A change would give hosts another zone that were not announced: it is rolled back."""

    def __init__(self, hosts_by_cell: Mapping[str, list[str]]) -> None:
        super().__init__()
        self.hosts_by_cell = hosts_by_cell


class ZoneGuard:
    """Runs changes of aggregates unless servers would lose their zone."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, cells: Cells, now: Clock) -> None:
        self._conf = conf
        self._database = database
        self._cells = cells
        self._now = now

    def run(self, context: RequestContext, change: Callable[[Session], T]) -> tuple[T, int]:
        """Make a change in one transaction; return its outcome and the number that it has.

        Raises what it raises, and ZoneInUseByServers; CellUnavailable when the cell of a host whose
        zone would change does not answer.
        """
        change_id, announced = str(uuid.uuid4()), set[str]()
        try:
            for _round in range(_ROUNDS_MAX):
                try:
                    return self._make(change, change_id, announced)
                except _NotAnnounced as found:
                    announced = self._announce(change_id, found.hosts_by_cell)
                    self._ask_cells(context, found.hosts_by_cell)
        except Exception:
            if announced:
                with contextlib.suppress(exception.ArmillaryError):
                    self._database.run_in_writer(zone_changes.end, change_id)
            raise
        raise exception.Conflict(reason="other requests keep changing the same aggregates")

    def withdraw_old(self) -> None:
        """Withdraw changes whose conductor was killed, so that their hosts are selected again."""
        before = self._now() - ANNOUNCED_SECONDS_MAX
        self._database.run_in_writer(zone_changes.end_old, before)

    def _make(
        self, change: Callable[[Session], T], change_id: str, announced: Collection[str]
    ) -> tuple[T, int]:
        """Make the change, if all hosts that it gives another zone are announced."""

        def write(session: Session) -> tuple[T, int]:
            metadata_seq.lock_seq(session)
            zones, names = aggregates.zones_of_hosts(session), aggregates.zone_names(session)
            made = change(session)
            by_cell = self._rezoned(session, zones, aggregates.zones_of_hosts(session))
            rezoned = {host for hosts in by_cell.values() for host in hosts}
            _check_selections(session, rezoned)
            self._check_pinned(session, names - aggregates.zone_names(session))
            if not rezoned <= set(announced):
                raise _NotAnnounced(by_cell)
            if announced and not zone_changes.end(session, change_id):
                raise exception.Unavailable(reason="cells took too long to report their servers")
            return made, metadata_seq.get_seq(session)

        return self._database.run_in_writer(write)

    def _rezoned(
        self, session: Session, before: Mapping[str, str], after: Mapping[str, str]
    ) -> dict[str, list[str]]:
        """Return the hosts whose zone differs, by cell."""
        default = self._conf.default_availability_zone
        changed = [
            host for host in sorted({*before, *after})
            if before.get(host, default) != after.get(host, default)
        ]  # fmt: skip
        by_cell: dict[str, list[str]] = {}
        cells = host_mappings.cells_of_hosts(session) if changed else {}
        for host in changed:
            if host in cells:
                by_cell.setdefault(cells[host], []).append(host)
        return by_cell

    def _check_pinned(self, session: Session, gone: set[str]) -> None:
        """Raise ZoneKeptByServer if a server asked for a zone that ends."""
        for zone in sorted(gone - {self._conf.default_availability_zone}):
            keeper = request_specs.find_pinned(session, zone)
            if keeper is not None:
                raise exception.ZoneKeptByServer(zone=zone, instance_uuid=keeper)

    def _announce(self, change_id: str, hosts_by_cell: Mapping[str, list[str]]) -> set[str]:
        """Announce the change of hosts, unless selections of them are stored."""
        hosts = {host for some in hosts_by_cell.values() for host in some}

        def write(session: Session) -> None:
            metadata_seq.lock_seq(session)
            _check_selections(session, hosts)
            zone_changes.announce(session, change_id, hosts, now=self._now())

        self._database.run_in_writer(write)
        return hosts

    def _ask_cells(self, context: RequestContext, hosts_by_cell: Mapping[str, list[str]]) -> None:
        for cell_uuid, hosts in hosts_by_cell.items():
            question = partial(CellConductorAPI.find_hosts_in_use, context=context, hosts=hosts)
            _refuse(self._cells.call(cell_uuid, question))


def check_zones(session: Session, conf: cfg.ConfigOpts, selected: Iterable[Selection]) -> None:
    """Check that selected hosts are still in the zones for which they were selected.

    To be called in the transaction that stores the selections, before any other query that locks
    nothing: no zone changes until it ends. Raises Unavailable, so that the request is scheduled
    again.
    """
    chosen = {host.service_host: host.availability_zone for host in selected}
    if not chosen:
        return
    for host in sorted(zone_changes.share(session) & chosen.keys()):
        raise exception.Unavailable(reason=f"host {host} may be given another availability zone")
    zones = aggregates.zones_of(session, chosen)
    for host, zone in chosen.items():
        now_in = zones.get(host, conf.default_availability_zone)
        if zone not in (None, now_in):
            raise exception.Unavailable(
                reason=f"host {host} went from availability zone {zone} to {now_in} "
                "while it was selected"
            )


def _check_selections(session: Session, hosts: Collection[str]) -> None:
    """Raise ZoneInUseByServers for hosts that builds and moves have selected."""
    _refuse(build_requests.instances_selected_for(session, hosts))
    _refuse(moves.instances_selected_for(session, hosts))


def _refuse(in_use: Mapping[str, str]) -> None:
    for host, instance_uuid in sorted(in_use.items()):
        raise exception.ZoneInUseByServers(host=host, instance_uuid=instance_uuid)
