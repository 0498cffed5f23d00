"""Delete an instance at any moment of its life: store the intent, then bring it about.

Before a cell knows of it, its build request is marked, and who works on its reservation drops it.
After that the cell is told, again and again until it answers.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext, admin_context
from conductor import stored_contexts
from conductor.api_db import (
    build_requests,
    cell_changes,
    cleanups,
    instance_mappings,
    moves,
    server_groups,
)
from conductor.api_db.cleanups import Cleanup, CleanupTask
from conductor.leases import Lease
from conductor.moments import moment
from conductor.tasks.base import Parts
from conductor.zones import paths
from conductor.zones.attempt_states import ATTEMPT_FINAL, AttemptState
from objects.allocation import FENCE_FINAL
from objects.cell_mapping import CELL0_UUID

LOG = logging.getLogger(__name__)


class Deletes:
    """Accepts deletes, and does what is still to be done for them."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def delete(self, context: RequestContext, instance_uuid: str) -> None:
        """Accept a delete, and try to bring it about at once. Unknown instances are fine."""
        is_in_cell = self._parts.database.run_in_writer(
            lambda session: self._accept(session, context, instance_uuid)
        )
        LOG.info("%s %s: delete accepted", context.request_id, instance_uuid)
        if is_in_cell:
            self.clean_up([instance_uuid])

    def clean_up(self, instance_uuids: Sequence[str]) -> None:
        """Do what is to be done for these, as far as nobody else does; the rest comes later."""
        leases = self._take(instance_uuids)
        if not leases:
            return
        todo = self._list([lease.key for lease in leases])
        self._release([one for one in todo if one.task == CleanupTask.RELEASE])
        for one in todo:
            if one.task == CleanupTask.DELETE_IN_ZONE:
                self._tell_zone(one)
            elif one.task != CleanupTask.RELEASE:
                self._tell_cell(one)
        self._let_go(leases)

    def _accept(self, session: Session, context: RequestContext, instance_uuid: str) -> bool:
        """Store the intent; return whether a cell or zone has to be told."""
        is_pending = build_requests.mark_deleting(session, instance_uuid)
        # Read after the mark: a build request goes in the transaction that maps its instance.
        mapping = instance_mappings.find_mapping(session, instance_uuid)
        instance_mappings.queue_for_delete(session, instance_uuid, now=moment(self._parts.now()))
        server_groups.remove_member(session, instance_uuid)
        moves.remove_of(session, [instance_uuid])
        changes = cell_changes.list_of(session, instance_uuid)
        cell_changes.remove_of(session, instance_uuid)
        plain = stored_contexts.to_plain(context)
        is_in_zone = mapping is not None and mapping.zone_path is not None
        if mapping is not None and mapping.zone_path is not None:
            cleanups.add_zone_delete(session, instance_uuid, mapping.zone_path, plain)
        if is_pending or mapping is None or mapping.cell_uuid is None:
            return is_in_zone
        cleanups.add_deletes(session, [instance_uuid], mapping.cell_uuid, plain)
        for change in changes:
            other = change.other(mapping.cell_uuid)
            if other is not None:
                cleanups.add_delete_elsewhere(session, instance_uuid, other, plain)
        return True

    def _take(self, instance_uuids: Sequence[str]) -> list[Lease]:
        def take_all(session: Session) -> list[Lease]:
            taken = [self._parts.cleanups.take(session, uuid) for uuid in instance_uuids]
            return [lease for lease in taken if lease is not None]

        return self._parts.database.run_in_writer(take_all)

    def _list(self, instance_uuids: Sequence[str]) -> list[Cleanup]:
        with self._parts.database.reader() as session:
            return cleanups.list_cleanups(session, instance_uuids)

    def _release(self, todo: Sequence[Cleanup]) -> None:
        if not todo:
            return
        fences = {one.instance_uuid: FENCE_FINAL for one in todo}
        try:
            self._parts.placement.release(admin_context(), fences)
        except Exception as error:
            LOG.warning("%d allocations are still to be released: %s", len(fences), error)
        else:
            self._done(fences.keys(), CleanupTask.RELEASE)

    def _tell_cell(self, one: Cleanup) -> None:
        assert one.cell_uuid is not None
        context = stored_contexts.from_plain(one.context)
        try:
            if one.cell_uuid == CELL0_UUID:
                self._parts.cell0.delete_instances([one.instance_uuid])
            elif one.migration_uuid is not None:
                migration_uuid = one.migration_uuid
                self._parts.cells.call(
                    one.cell_uuid,
                    lambda cell: cell.drop_copy(context, one.instance_uuid, migration_uuid),
                )
            else:
                self._parts.cells.call(
                    one.cell_uuid, lambda cell: cell.delete_instance(context, one.instance_uuid)
                )
        except exception.CellNotFound:
            LOG.warning("%s: its cell %s is gone", one.instance_uuid, one.cell_uuid)
        except Exception as error:
            LOG.warning("%s: still to be deleted in its cell: %s", one.instance_uuid, error)
            return
        self._done([one.instance_uuid], one.task)

    def _tell_zone(self, one: Cleanup) -> None:
        """Have it undone where it is; done when that zone says that nothing is left of it."""
        assert one.zone_path is not None
        context = stored_contexts.from_plain(one.context)
        path = paths.from_text(one.zone_path)
        try:
            answers = self._parts.zones.cancel(
                context, path, {one.instance_uuid: ATTEMPT_FINAL}
            ).wait()
        except exception.ZoneNotFound:
            LOG.warning("%s: its zone %s is gone", one.instance_uuid, one.zone_path)
        except Exception as error:
            LOG.warning("%s: still to be deleted in its zone: %s", one.instance_uuid, error)
            return
        else:
            if answers[one.instance_uuid]["state"] != AttemptState.GONE:
                return
        self._done([one.instance_uuid], one.task)

    def _done(self, instance_uuids: Collection[str], task: str) -> None:
        self._parts.database.run_in_writer(
            lambda session: cleanups.delete_cleanups(session, instance_uuids, task)
        )

    def _let_go(self, leases: Sequence[Lease]) -> None:
        pause_seconds = self._parts.conf.conductor.retry_pause_seconds

        def let_all_go(session: Session) -> None:
            for lease in leases:
                self._parts.cleanups.let_go(session, lease, retry_in_seconds=pause_seconds)

        self._parts.database.run_in_writer(let_all_go)
