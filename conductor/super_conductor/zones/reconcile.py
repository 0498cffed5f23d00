"""Reconciliation with the zones that own servers: unknown outcomes, deleted servers, sizes.

A server ended in ERROR when its zone stopped answering during the build. That zone knows the
outcome: either the server is there, or it is not and must not be created any more. A server that
its zone deleted by itself, e.g. when its time after a soft delete was up, is deleted here, too. The
quota usage of a server follows what its zone reports, whether or not it was resized from here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

from sqlalchemy.orm import Session

from armillary.context import RequestContext, admin_context
from conductor.common.clock import moment
from conductor.super_conductor.db import cleanups, instance_mappings
from conductor.super_conductor.db.cleanups import Cleanup, CleanupKind
from conductor.super_conductor.db.instance_mappings import InZone, Size
from conductor.super_conductor.peers import Environment, Peers
from conductor.super_conductor.zones import paths
from objects.cell_mapping import CELL0_UUID
from objects.zones.zone_attempt import Attempts, AttemptState, ServerSize, ZoneAttempt

LOG = logging.getLogger(__name__)

_BATCH_SIZE = 100
_AMOUNT_MAX = 2**31 - 1


class Reconciler:
    """One pass of each check, run as periodic tasks. ``delete`` accepts an instance's delete."""

    def __init__(
        self, env: Environment, peers: Peers, delete: Callable[[RequestContext, str], None]
    ) -> None:
        self._env = env
        self._peers = peers
        self._delete = delete

    def reconcile_unknown(self) -> None:
        """Ask the zone of each server with an unknown outcome whether it has the server."""
        for one, answer in self._ask(CELL0_UUID):
            uuid, text = one.instance_uuid, one.zone_path
            state = None if answer is None else answer.state
            if state == AttemptState.ACTIVE:
                self._is_there(uuid, text)
            elif state != AttemptState.BUILDING:
                self._is_not_there(admin_context(), uuid, text)

    def reconcile_deleted(self) -> None:
        """Delete servers that their zone no longer has, and update the usage of the others."""
        for one, answer in self._ask(None):
            if answer is not None and answer.state == AttemptState.GONE:
                LOG.info("%s: deleted by zone %s", one.instance_uuid, one.zone_path or "(this)")
                self._delete(admin_context(), one.instance_uuid)
            else:
                self._take_size(one, answer)

    def reconcile_sizes(self) -> int:
        """Update the usage of servers whose resize has ended; return their number."""
        return sum(
            self._take_size(one, answer) for one, answer in self._ask(None, resizing_only=True)
        )

    def _ask(
        self, cell_uuid: str | None, *, resizing_only: bool = False
    ) -> Iterator[tuple[InZone, ZoneAttempt | None]]:
        """Yield each server with the answer of its zone; servers of silent zones are left out."""
        after = ""
        while True:
            found = self._env.database.read(
                instance_mappings.list_in_zones,
                cell_uuid,
                after=after,
                limit=_BATCH_SIZE,
                resizing_only=resizing_only,
            )
            by_path: dict[str, list[InZone]] = {}
            for one in found:
                by_path.setdefault(one.zone_path, []).append(one)
            for text, ones in by_path.items():
                answers = self._ask_zone(text, [one.instance_uuid for one in ones])
                if answers is not None:
                    yield from ((one, answers.get(one.instance_uuid)) for one in ones)
            if len(found) < _BATCH_SIZE:
                return
            after = found[-1].instance_uuid

    def _ask_zone(self, text: str, uuids: Sequence[str]) -> Attempts | None:
        path = paths.from_text(text)
        try:
            return self._peers.zones.get_attempts(admin_context(), path, uuids).wait()
        except Exception as error:
            LOG.debug("Cannot get the state of %d servers in zone %s: %s", len(uuids), text, error)
            return None

    def _take_size(self, placed: InZone, answer: ZoneAttempt | None) -> bool:
        """Store the usage that a zone reports; return whether a resize has ended by that."""
        size = None if answer is None else _size(answer.size, placed.size)
        if size in (None, placed.size) or self._may_be_in_transit(placed):
            return False
        assert size is not None

        def write(session: Session) -> bool:
            return instance_mappings.replace_size(session, placed.instance_uuid, placed.size, size)

        is_taken = self._env.database.run_in_writer(write)
        return is_taken and placed.size.is_resizing and not size.is_resizing

    def _may_be_in_transit(self, placed: InZone) -> bool:
        """Return whether a resize request may still be in transit to the zone."""
        if not placed.size.is_resizing or placed.size.resize_asked_at is None:
            return False
        steps = len(paths.from_text(placed.zone_path)) + 1  # one more for the zone's own work
        limit = timedelta(seconds=steps * self._env.conf.zones.forward_timeout_seconds)
        return moment(self._env.now()) < placed.size.resize_asked_at + limit

    def _is_there(self, uuid: str, text: str) -> None:
        def write(session: Session) -> bool:
            return instance_mappings.leave_cell(session, uuid, CELL0_UUID)

        if self._env.database.run_in_writer(write):
            LOG.info("%s: found in zone %s", uuid, text)
            self._peers.cell0.delete_instances([uuid])

    def _is_not_there(self, context: RequestContext, uuid: str, text: str) -> None:
        """Delete what the zone has or may still create; the server stays in ERROR here."""

        def write(session: Session) -> None:
            instance_mappings.map_to_zone(session, uuid, None)
            kind = CleanupKind.DELETE_IN_ZONE
            cleanups.add(session, Cleanup(uuid, kind, context, zone_path=text))

        self._env.database.run_in_writer(write)
        LOG.info("%s: not found in zone %s", uuid, text)


def _size(reported: ServerSize | None, former: Size) -> Size | None:
    """Return the usage that a zone reports; None without a valid one."""
    if reported is None:
        return None
    vcpus, memory_mb = reported.vcpus, reported.memory_mb
    if not (0 <= vcpus <= _AMOUNT_MAX and 0 <= memory_mb <= _AMOUNT_MAX):
        return None
    return Size(vcpus, memory_mb, reported.is_resizing, former.resize_asked_at)
