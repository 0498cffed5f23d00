"""Refuse changes that would move servers to another availability zone, or take a zone from them.

A server is on a host if it lives, is built or has an alternate there, or is moved from or to there
(alternates of moves, and a resize that waits for its confirmation count). Hosts are asked about
before the change, so that a refused one is never visible, and after it: a build or a move that was
handed to its cell in between is found there, and the change is undone, but not what other requests
changed meanwhile. Builds and moves that store a selection after the change see the new zone (see
``check_zones``).
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeVar

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.cell_conductor.interface import CellConductorAPI
from conductor.super_conductor.db import (
    build_requests,
    host_mappings,
    metadata_seq,
    moves,
    request_specs,
)
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.hosts.cells import Cells
from objects.selection import Selection

T = TypeVar("T")


class _DryRun(Exception):
    """Rolls a transaction back."""


@dataclasses.dataclass(frozen=True)
class _Effect:
    """What a change of aggregates does: hosts whose zone changes, by cell, and zones that end.

    ``before`` and ``after`` are all zones and hosts, ``seq`` is the number of the metadata that it
    makes, all in its transaction.
    """

    hosts_by_cell: dict[str, list[str]]
    gone: set[str]
    before: aggregates.Zones
    after: aggregates.Zones
    seq: int


class ZoneGuard:
    """Runs changes of aggregates unless servers would lose their zone."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, cells: Cells) -> None:
        self._conf = conf
        self._database = database
        self._cells = cells

    def run(self, context: RequestContext, change: Callable[[Session], T]) -> tuple[T, int]:
        """Make a change in one transaction; return its outcome and the number that it has.

        Raises what it raises, and ZoneInUseByServers; CellUnavailable when the cell of a host whose
        zone would change does not answer.
        """
        self._ask_cells(context, self._effect_of(change))
        made, done = self._database.run_in_writer(lambda session: self._checked(session, change))
        try:
            self._ask_cells(context, done)
        except exception.ArmillaryError:
            self._database.run_in_writer(
                lambda session: aggregates.undo(session, done.before, done.after)
            )
            raise
        return made, done.seq

    def _effect_of(self, change: Callable[[Session], T]) -> _Effect:
        """Return what a change would do, without making it."""
        found: list[_Effect] = []

        def rehearse(session: Session) -> None:
            found[:] = [self._checked(session, change)[1]]
            raise _DryRun

        try:
            self._database.run_in_writer(rehearse)
        except _DryRun:
            return found[0]
        raise AssertionError("a rehearsal does not end otherwise")

    def _checked(self, session: Session, change: Callable[[Session], T]) -> tuple[T, _Effect]:
        """Make the change and check what this database knows of servers."""
        metadata_seq.lock_seq(session)
        before = aggregates.read_zones(session)
        made = change(session)
        default = self._conf.default_availability_zone
        effect = _compare(session, before, aggregates.read_zones(session), default)
        moved = {host for hosts in effect.hosts_by_cell.values() for host in hosts}
        _refuse(build_requests.instances_selected_for(session, moved))
        _refuse(moves.instances_selected_for(session, moved))
        for zone in sorted(effect.gone - {default}):
            keeper = request_specs.find_pinned(session, zone)
            if keeper is not None:
                raise exception.ZoneKeptByServer(zone=zone, instance_uuid=keeper)
        return made, effect

    def _ask_cells(self, context: RequestContext, effect: _Effect) -> None:
        for cell_uuid, hosts in effect.hosts_by_cell.items():
            question = partial(CellConductorAPI.find_hosts_in_use, context=context, hosts=hosts)
            _refuse(self._cells.call(cell_uuid, question))


def check_zones(session: Session, conf: cfg.ConfigOpts, selected: Iterable[Selection]) -> None:
    """Check that selected hosts are still in the zones for which they were selected.

    To be called in the transaction that stores the selections, before any other query that locks
    nothing: no zone changes until it ends. Raises Unavailable, so that the request is scheduled
    again.
    """
    chosen = {
        host.service_host: host.availability_zone
        for host in selected
        if host.availability_zone is not None
    }
    if not chosen:
        return
    metadata_seq.share_seq(session)
    zones = aggregates.zones_of(session, chosen)
    for host, zone in chosen.items():
        now_in = zones.get(host, conf.default_availability_zone)
        if now_in != zone:
            raise exception.Unavailable(
                reason=f"host {host} went from availability zone {zone} to {now_in} "
                "while it was selected"
            )


def _compare(
    session: Session, before: aggregates.Zones, after: aggregates.Zones, default: str
) -> _Effect:
    changed = [
        host for host in sorted({*before.of_hosts, *after.of_hosts})
        if before.of_hosts.get(host, default) != after.of_hosts.get(host, default)
    ]  # fmt: skip
    by_cell: dict[str, list[str]] = {}
    if changed:
        cells = host_mappings.cells_of_hosts(session)
        for host in changed:
            if host in cells:
                by_cell.setdefault(cells[host], []).append(host)
    seq = metadata_seq.get_seq(session)
    return _Effect(by_cell, before.names - after.names, before, after, seq)


def _refuse(in_use: Mapping[str, str]) -> None:
    for host, instance_uuid in sorted(in_use.items()):
        raise exception.ZoneInUseByServers(host=host, instance_uuid=instance_uuid)
