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
from conductor.api_db import build_requests, cleanups, instance_mappings, moves, server_groups
from conductor.api_db.cleanups import Cleanup, CleanupTask
from conductor.leases import Lease
from conductor.moments import moment
from conductor.tasks.base import Parts
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
            if one.task == CleanupTask.DELETE:
                self._delete_in_cell(one)
        self._let_go(leases)

    def _accept(self, session: Session, context: RequestContext, instance_uuid: str) -> bool:
        """Store the intent; return whether a cell has to be told."""
        is_pending = build_requests.mark_deleting(session, instance_uuid)
        # Read after the mark: a build request goes in the transaction that maps its instance.
        mapping = instance_mappings.find_mapping(session, instance_uuid)
        instance_mappings.queue_for_delete(session, instance_uuid, now=moment(self._parts.now()))
        server_groups.remove_member(session, instance_uuid)
        moves.remove_of(session, [instance_uuid])
        if is_pending or mapping is None or mapping.cell_uuid is None:
            return False
        cleanups.add_deletes(
            session, [instance_uuid], mapping.cell_uuid, stored_contexts.to_plain(context)
        )
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

    def _delete_in_cell(self, one: Cleanup) -> None:
        assert one.cell_uuid is not None
        context = stored_contexts.from_plain(one.context)
        try:
            if one.cell_uuid == CELL0_UUID:
                self._parts.cell0.delete_instances([one.instance_uuid])
            else:
                self._parts.cells.call(
                    one.cell_uuid, lambda cell: cell.delete_instance(context, one.instance_uuid)
                )
        except exception.CellNotFound:
            LOG.warning("%s: its cell %s is gone", one.instance_uuid, one.cell_uuid)
        except Exception as error:
            LOG.warning("%s: still to be deleted in its cell: %s", one.instance_uuid, error)
            return
        self._done([one.instance_uuid], CleanupTask.DELETE)

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
