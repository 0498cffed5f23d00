"""Delete task: store the intent, destroy the guest, release its allocation, delete the record.

Stages, with the step of each:

- guest: cast to the host's agent, which reports. Hosts that are down or unknown are not waited
  for; their agents find out when they return. Other hosts that know of the instance through a
  running operation get the command, too;
- records: release the allocation permanently and mark the instance as deleted.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from sqlalchemy.orm import Session

from armillary.context import RequestContext
from compute_agent.interface import ComputeAPI
from conductor.cell_conductor import base_task
from conductor.cell_conductor.builds.attempts import Attempt
from conductor.common.cell_db import (
    actions,
    builds,
    deletes,
    host_seq,
    instances,
    migrations,
    models,
    operations,
    services,
)
from conductor.common.cell_db.flow_states import Move, Snapshot
from conductor.common.cell_db.stored_object import StoredObject
from conductor.common.leased_work import Step
from conductor.common.leases import Lease
from objects.allocations.fence import FENCE_FINAL
from objects.images.image_meta import ImageMeta
from objects.instances.instance_command import SHELVED_IMAGE
from objects.instances.migration import MigrationStatus
from placement.interface import PlacementAPI

LOG = logging.getLogger(__name__)

WorkItem = base_task.WorkItem[models.InstanceDelete]
Batch = base_task.Batch[models.InstanceDelete]

ForgetImage = Callable[[RequestContext, str, str], None]
"""Deletes the record of an image by instance UUID and image id."""

GUEST = "guest"
RECORDS = "records"

_MAKE_IMAGES = frozenset({"snapshot", "backup", "shelve", "shelve_offload"})
"""Operations that store a guest's data as an image."""
_UNFINISHED_IMAGE = "unfinished_image"
"""Key of a payload: the image that an operation was making when the delete ended it."""


class Delete(base_task.Task[models.InstanceDelete]):
    """Deletes of this cell's instances, from the request to the end of the record."""

    def __init__(
        self,
        env: base_task.Environment,
        *,
        placement: PlacementAPI,
        compute: ComputeAPI,
        on_gone: Callable[[str, str], None] = lambda host, instance_uuid: None,
        forget_image: ForgetImage = lambda _context, _instance_uuid, _image_id: None,
    ) -> None:
        super().__init__(env, deletes.ROWS)
        self._placement = placement
        self._compute = compute
        self._on_gone = on_gone
        self._forget_image = forget_image

    @property
    def steps(self) -> Mapping[str, base_task.StageStep[models.InstanceDelete]]:
        return {
            GUEST: Step("destroy guest", self._destroy),
            RECORDS: Step("release and delete", self._release_and_delete),
        }

    def store(self, context: RequestContext, instance_uuid: str) -> list[Lease]:
        """Store the delete and end a build in progress; return a lease for :meth:`run`.

        The list is empty if there is nothing to do: the instance is unknown, deleted, or already
        being deleted.
        """
        return self._database.run_in_writer(self._store, context, instance_uuid)

    def guest_gone(self, session: Session, row: models.InstanceDelete, *, host: str) -> Lease:
        """Record in the caller's transaction that the guest is gone; the lease is to be run."""
        actions.finish_event(
            session, row.instance_uuid, actions.DELETE, actions.DELETE_EVENT,
            host=host, result=actions.SUCCESS, now=self._now,
        )  # fmt: skip
        return self._on_to_records(row)

    def _on_to_records(self, row: models.InstanceDelete) -> Lease:
        row.is_guest_gone = True
        row.tries = 0
        return self._take_lease(row)

    def _stage(self, row: models.InstanceDelete) -> str:
        return RECORDS if row.is_guest_gone else GUEST

    def _store(self, session: Session, context: RequestContext, instance_uuid: str) -> list[Lease]:
        instance = instances.lock(session, instance_uuid)
        if instance is None or instance.deleted_at is not None:
            return []
        if deletes.lock(session, instance_uuid) is not None:
            return []
        build = builds.lock(session, instance_uuid)
        if build is not None:
            Attempt(session, instance, build, self._now).end_by_delete()
        others = self._end_operation(session, instance)
        is_moving = bool(migrations.find_unfinished(session, [instance_uuid]))
        instance.task_state = "deleting"
        instance.updated_at = self._now
        lease = self.leases.held(instance_uuid)
        session.add(
            models.InstanceDelete(
                instance_uuid=instance_uuid,
                is_guest_gone=instance.host is None and not others and not is_moving,
                other_hosts=others or None,
                request_id=context.request_id,
                tries=0,
                created_at=self._now,
                **lease.columns,
            )
        )
        actions.start_for_row(session, context, actions.DELETE, instance, now=self._now)
        if instance.host is not None:
            actions.start_event(
                session, instance_uuid, actions.DELETE, actions.DELETE_EVENT,
                host=instance.host, now=self._now,
            )  # fmt: skip
        return [lease]

    def _end_operation(self, session: Session, instance: models.Instance) -> list[str]:
        """End the instance's running operation; return the other hosts that know of it."""
        row = operations.lock(session, instance.uuid)
        if row is None:
            return []
        if row.operation in _MAKE_IMAGES and (image := Snapshot.of(row).image) is not None:
            payload = instance.migration_payload or {}
            instance.migration_payload = {**payload, _UNFINISHED_IMAGE: image.primitive}
        session.delete(row)
        actions.finish(session, instance.uuid, row.operation, message=actions.FAILED, now=self._now)
        return sorted({*Move.of(row).hosts} - {instance.host})

    # Steps

    def _destroy(self, batch: Batch) -> list[Lease]:
        """Ask the agents to destroy guests; do not wait for hosts that are down."""
        context, works = batch.context, batch.works
        hosts = {work.instance.host for work in works if work.instance.host is not None}
        with self._database.reader() as session:
            moves = migrations.find_unfinished(session, [work.uuid for work in works])
            others = _other_ends(works, moves)
            found = services.find_by_hosts(session, hosts | {host for _uuid, host in others})
        self._delete_on_other_hosts(context, works, others, found)
        lost = []
        for work in works:
            if work.instance.host is None:
                lost.append(work)
                continue
            host = str(work.instance.host)
            service = found.get(host)
            if self._is_host_up(service):
                agent = str(service and service.agent)
                self._compute.delete_instance(
                    context.for_instance(work.uuid), agent, work.uuid, host
                )
            else:
                lost.append(work)
        return self._database.run_in_writer(self._lose, lost) if lost else []

    def _delete_on_other_hosts(
        self,
        context: RequestContext,
        works: Sequence[WorkItem],
        others: Iterable[tuple[str, str]],
        found: Mapping[str, models.Service],
    ) -> None:
        """Tell the other hosts of a move to delete the instance.

        A lost message is fine: agents also find out by themselves, later.
        """
        at = {work.uuid: work.instance.host for work in works}
        for uuid, host in others:
            service = found.get(host)
            if host == at[uuid] or service is None or service.agent is None:
                continue
            try:
                self._compute.delete_instance(context.for_instance(uuid), service.agent, uuid, host)
            except base_task.UNKNOWN_OUTCOME_ERRORS as error:
                LOG.debug("%s: cannot notify %s: %s", uuid, host, error)

    def _lose(self, session: Session, works: Sequence[WorkItem]) -> list[Lease]:
        """Delete locally instances without a host, or whose host is down; its agent reaps later."""
        leases = []
        for work, instance, row in self._lock_ours(session, works):
            if instance.host is None:
                leases.append(self._on_to_records(row))
                continue
            LOG.info("%s: deleted locally; host %s is down", work.uuid, instance.host)
            details = f"host {instance.host} is down; its agent reaps the guest when it returns"
            actions.finish_event(
                session, work.uuid, actions.DELETE, actions.LOCAL_DELETE_EVENT,
                host=instance.host, result=actions.SUCCESS, details=details, now=self._now,
            )  # fmt: skip
            leases.append(self._on_to_records(row))
        return leases

    def _release_and_delete(self, batch: Batch) -> list[Lease]:
        """Release the allocations permanently, then mark the instances as deleted.

        The allocation of a hidden copy is released by the cell that has the instance. Other hosts
        get the command once more: they send no report, and a lost message would leave a guest there
        until the agent's next comparison.
        """
        context, works = batch.context, batch.works
        ours = [work.uuid for work in works if not work.instance.hidden]
        with self._database.reader() as session:
            moves = migrations.find_unfinished(session, [work.uuid for work in works])
            others = _other_ends(works, moves)
            hosts = {host for _uuid, host in others}
            found = services.find_by_hosts(session, hosts) if hosts else {}
        self._delete_on_other_hosts(context, works, others, found)
        consumers = ours + [move.uuid for move in moves if move.instance_uuid in ours]
        if consumers:
            self._placement.release(context, dict.fromkeys(consumers, FENCE_FINAL))
        for work in works:
            payload = work.instance.migration_payload or {}
            for image in filter(None, map(payload.get, (SHELVED_IMAGE, _UNFINISHED_IMAGE))):
                loaded: StoredObject[ImageMeta] = StoredObject(image)
                self._forget_image(context.for_instance(work.uuid), work.uuid, loaded.load().id)
        deleted = self._database.run_in_writer(self._mark_deleted, works)
        for uuid, host in deleted.items():
            self._on_gone(host, uuid)
        return []

    def _mark_deleted(self, session: Session, works: Sequence[WorkItem]) -> dict[str, str]:
        """Return instance -> host of those that had one."""
        ours = self._lock_ours(session, works)
        uuids = [work.uuid for work, _instance, _row in ours]
        for move in migrations.find_unfinished(session, uuids):
            move.status, move.updated_at = MigrationStatus.CANCELLED, self._now
        instances.delete_all(session, uuids, now=self._now)
        deletes.remove(session, uuids)
        actions.finish_all(session, uuids, actions.DELETE, message=None, now=self._now)
        host_seq.touch_hosts(session, [instance.host for _work, instance, _row in ours])
        for uuid in uuids:
            LOG.info("%s: deleted", uuid)
        return {work.uuid: instance.host for work, instance, _row in ours if instance.host}


def _other_ends(
    works: Sequence[WorkItem], moves: Sequence[models.Migration]
) -> list[tuple[str, str]]:
    """Return (instance, host) of all ends of moves; may include the instance's own host."""
    ends = [(move.instance_uuid, host) for move in moves for host in _ends(move)]
    ends += [(work.uuid, host) for work in works for host in work.row.other_hosts or ()]
    return list(dict.fromkeys(ends))


def _ends(move: models.Migration) -> list[str]:
    return [host for host in (move.source_host, move.dest_host) if host is not None]
