"""Delete an instance in any state: store the intent, then carry it out.

Before a cell knows of the instance, its build request is marked and the conductor that processes
its reservation drops it. After that the cell is told, with retries until it answers.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext, admin_context
from conductor.common import stored_contexts
from conductor.common.clock import moment
from conductor.common.leased_work import LeasedWork, Release
from conductor.super_conductor.base_task import Dependencies
from conductor.super_conductor.db import (
    build_requests,
    cell_changes,
    cleanups,
    instance_mappings,
    moves,
    server_groups,
)
from conductor.super_conductor.db.cleanups import Cleanup, CleanupTask
from conductor.super_conductor.zones import paths
from conductor.super_conductor.zones.attempt_states import ATTEMPT_FINAL, AttemptState
from objects.cell_mapping import CELL0_UUID
from objects.fence import FENCE_FINAL

LOG = logging.getLogger(__name__)


class Deletes(LeasedWork):
    """Accepts deletes and performs the cleanups that they need."""

    def __init__(self, parts: Dependencies) -> None:
        super().__init__(parts.database, parts.cleanups)
        self._parts = parts

    def delete(self, context: RequestContext, instance_uuid: str) -> None:
        """Accept a delete and try to perform it at once. Unknown instances are ignored."""
        is_in_cell = self._parts.database.run_in_writer(
            lambda session: self._accept(session, context, instance_uuid)
        )
        LOG.info("%s %s: delete accepted", context.request_id, instance_uuid)
        if is_in_cell:
            self.clean_up([instance_uuid])

    def clean_up(self, instance_uuids: Sequence[str]) -> None:
        """Perform the cleanups of these instances that no other conductor holds.

        What fails is retried later.
        """
        self.resume(instance_uuids)

    def resume(self, keys: Sequence[str]) -> int:
        leases = self.take(keys)
        if not leases:
            return 0
        todo = self._list([lease.key for lease in leases])
        self._release_allocations([one for one in todo if one.task == CleanupTask.RELEASE])
        for one in todo:
            if one.task == CleanupTask.DELETE_IN_ZONE:
                self._delete_in_zone(one)
            elif one.task != CleanupTask.RELEASE:
                self._delete_in_cell(one)
        pause_seconds = self._parts.conf.conductor.retry_pause_seconds
        self.release([Release(lease, pause_seconds) for lease in leases])
        return len(leases)

    def _accept(self, session: Session, context: RequestContext, instance_uuid: str) -> bool:
        """Store the intent; return whether a cell or zone must be told."""
        is_pending = build_requests.mark_deleting(session, instance_uuid)
        # Read after marking: a build request is removed by the transaction that maps its instance.
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

    def _list(self, instance_uuids: Sequence[str]) -> list[Cleanup]:
        with self._parts.database.reader() as session:
            return cleanups.list_cleanups(session, instance_uuids)

    def _release_allocations(self, todo: Sequence[Cleanup]) -> None:
        if not todo:
            return
        fences = {one.instance_uuid: FENCE_FINAL for one in todo}
        try:
            self._parts.placement.release(admin_context(), fences)
        except Exception as error:
            LOG.warning("Allocations not released (%d), will retry: %s", len(fences), error)
        else:
            self._done(fences.keys(), CleanupTask.RELEASE)

    def _delete_in_cell(self, one: Cleanup) -> None:
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
            LOG.warning("%s: cell %s no longer exists", one.instance_uuid, one.cell_uuid)
        except Exception as error:
            LOG.warning("%s: cannot delete in its cell; will retry: %s", one.instance_uuid, error)
            return
        self._done([one.instance_uuid], one.task)

    def _delete_in_zone(self, one: Cleanup) -> None:
        """Ask the instance's zone to delete it; done when the zone reports nothing is left."""
        assert one.zone_path is not None
        context = stored_contexts.from_plain(one.context)
        path = paths.from_text(one.zone_path)
        try:
            answers = self._parts.zones.cancel(
                context, path, {one.instance_uuid: ATTEMPT_FINAL}
            ).wait()
        except exception.ZoneNotFound:
            LOG.warning("%s: zone %s no longer exists", one.instance_uuid, one.zone_path)
        except Exception as error:
            LOG.warning("%s: cannot delete in its zone; will retry: %s", one.instance_uuid, error)
            return
        else:
            if answers[one.instance_uuid]["state"] != AttemptState.GONE:
                return
        self._done([one.instance_uuid], one.task)

    def _done(self, instance_uuids: Collection[str], task: str) -> None:
        self._parts.database.run_in_writer(
            lambda session: cleanups.delete_cleanups(session, instance_uuids, task)
        )
