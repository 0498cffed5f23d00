"""Delete an instance in any state: store the intent, then carry it out.

Before a cell knows of the instance, its build request is marked and the conductor that processes
its reservation drops it. After that the cell is asked to delete it, with retries until it answers.
"""

import logging
from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext, admin_context
from conductor.common import leased_work
from conductor.common.clock import moment
from conductor.common.leased_work import LeasedWork, Release, Step, StepHook
from conductor.common.leases import Lease, Leases
from conductor.super_conductor.db import (
    build_requests,
    cell_changes,
    claims,
    cleanups,
    deferred_operations,
    instance_mappings,
    moves,
)
from conductor.super_conductor.db.catalogue import server_groups
from conductor.super_conductor.db.cleanups import Cleanup, CleanupKind
from conductor.super_conductor.hosts.cells import Question
from conductor.super_conductor.peers import Environment, Peers
from conductor.super_conductor.zones import paths
from objects.allocations.fence import FENCE_FINAL
from objects.cell_mapping import CELL0_UUID
from objects.zones.zone_attempt import ATTEMPT_FINAL, AttemptState

LOG = logging.getLogger(__name__)


class Deletes(LeasedWork):
    """Accepts deletes and performs the cleanups that they need."""

    def __init__(
        self, env: Environment, peers: Peers, leases: Leases, watch: StepHook = leased_work.no_hook
    ) -> None:
        super().__init__(env.database, leases)
        self._env = env
        self._peers = peers
        self._watch = watch

    def delete(self, context: RequestContext, instance_uuid: str) -> None:
        """Accept a delete and try to perform it immediately. Unknown instances are ignored."""
        is_in_cell = self._env.database.run_in_writer(self._accept, context, instance_uuid)
        LOG.info("%s %s: delete accepted", context.request_id, instance_uuid)
        if is_in_cell:
            self.clean_up([instance_uuid])

    def clean_up(self, instance_uuids: Sequence[str]) -> None:
        """Perform the cleanups of these instances that no other conductor holds.

        What fails is retried later.
        """
        self.resume(instance_uuids)

    def resume(self, keys: Sequence[str]) -> list[Lease]:
        leases = self.take(keys)
        if not leases:
            return []
        for task, todo in self._by_task([lease.key for lease in leases]).items():
            for cleanups_of_step in [todo] if task in IN_ONE_CALL else [[one] for one in todo]:
                self._clean_up(task, cleanups_of_step)
        pause_seconds = self._env.conf.conductor.retry_pause_seconds
        self.release([Release(lease, pause_seconds) for lease in leases])
        return leases

    def _accept(self, session: Session, context: RequestContext, instance_uuid: str) -> bool:
        """Store the intent; return whether a cell or zone must be told."""
        is_pending = build_requests.mark_deleting(session, instance_uuid)
        # Read after marking: a build request is removed by the transaction that maps its instance.
        mapping = instance_mappings.find_mapping(session, instance_uuid)
        instance_mappings.queue_for_delete(session, instance_uuid, now=moment(self._env.now()))
        server_groups.remove_member(session, instance_uuid)
        claims.end_of_servers(session, [instance_uuid], now=moment(self._env.now()))
        moves.remove_of(session, [instance_uuid])
        deferred_operations.remove(session, instance_uuid)
        changes = cell_changes.list_of(session, instance_uuid)
        cell_changes.remove_of(session, instance_uuid)
        is_in_zone = mapping is not None and mapping.zone_path is not None
        if mapping is not None and mapping.zone_path is not None:
            there = Cleanup(
                instance_uuid, CleanupKind.DELETE_IN_ZONE, context, zone_path=mapping.zone_path
            )
            cleanups.add(session, there)
        if is_pending or mapping is None or mapping.cell_uuid is None:
            return is_in_zone
        cleanups.add(
            session, Cleanup(instance_uuid, CleanupKind.DELETE, context, mapping.cell_uuid)
        )
        for change in changes:
            other = change.other(mapping.cell_uuid)
            if other is not None:
                kind = CleanupKind.DELETE_ELSEWHERE
                cleanups.add(session, Cleanup(instance_uuid, kind, context, other))
        return True

    def _by_task(self, instance_uuids: Sequence[str]) -> dict[str, list[Cleanup]]:
        found = self._env.database.read(cleanups.list_cleanups, instance_uuids)
        by_task: dict[str, list[Cleanup]] = {}
        for one in found:
            by_task.setdefault(one.task, []).append(one)
        return by_task

    def _clean_up(self, task: str, todo: Sequence[Cleanup]) -> None:
        step = STEPS[task]
        todo[0].context.update_store()
        uuids = [one.instance_uuid for one in todo]
        try:
            is_done = leased_work.run_step(CleanupTask(self._peers, todo), step, self._watch)
        except Exception as error:
            who = uuids[0] if len(uuids) == 1 else f"{len(uuids)} instances"
            LOG.warning("%s: cannot %s; will retry: %s", who, step.name, error)
            return
        if is_done:
            self._env.database.run_in_writer(cleanups.delete_cleanups, uuids, task)


class CleanupTask:
    """Cleanups of one kind. Each step returns whether nothing is left to do."""

    def __init__(self, peers: Peers, todo: Sequence[Cleanup]) -> None:
        self._peers = peers
        self._todo = todo

    def release_allocations(self) -> bool:
        """Release all in one call, and block late claims."""
        fences = {one.instance_uuid: FENCE_FINAL for one in self._todo}
        self._peers.placement.release(admin_context(), fences)
        return True

    def delete_in_cell(self) -> bool:
        """Have the cell delete the instance."""
        (one,) = self._todo
        if one.cell_uuid == CELL0_UUID:
            self._peers.cell0.delete_instances([one.instance_uuid])
            return True
        return self._in_cell(one, lambda cell: cell.delete_instance(one.context, one.instance_uuid))

    def drop_copy(self) -> bool:
        """Have the cell delete its copy of an instance that has moved."""
        (one,) = self._todo
        migration_uuid = str(one.migration_uuid)
        return self._in_cell(
            one, lambda cell: cell.drop_copy(one.context, one.instance_uuid, migration_uuid)
        )

    def delete_in_zone(self) -> bool:
        """Have the zone delete the instance; done when it reports that nothing is left."""
        (one,) = self._todo
        assert one.zone_path is not None
        path = paths.from_text(one.zone_path)
        attempts = {one.instance_uuid: ATTEMPT_FINAL}
        try:
            answers = self._peers.zones.cancel(one.context, path, attempts).wait()
        except exception.ZoneNotFound:
            LOG.warning("%s: zone %s no longer exists", one.instance_uuid, one.zone_path)
            return True
        return answers[one.instance_uuid].state == AttemptState.GONE

    def _in_cell(self, cleanup: Cleanup, question: Question[None]) -> bool:
        assert cleanup.cell_uuid is not None
        try:
            self._peers.cells.call(cleanup.cell_uuid, question)
        except exception.CellNotFound:
            LOG.warning("%s: cell %s no longer exists", cleanup.instance_uuid, cleanup.cell_uuid)
        return True


IN_ONE_CALL = frozenset({CleanupKind.RELEASE})
STEPS: Mapping[str, Step[CleanupTask, bool]] = {
    CleanupKind.RELEASE: Step("release allocations", CleanupTask.release_allocations),
    CleanupKind.DELETE: Step("delete in cell", CleanupTask.delete_in_cell),
    CleanupKind.DELETE_ELSEWHERE: Step("delete in other cell", CleanupTask.delete_in_cell),
    CleanupKind.DROP_COPY: Step("drop copy in cell", CleanupTask.drop_copy),
    CleanupKind.DELETE_IN_ZONE: Step("delete in zone", CleanupTask.delete_in_zone),
}
