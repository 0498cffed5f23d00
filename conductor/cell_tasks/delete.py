"""Delete: store the intent, have the guest destroyed, release its allocation, then its record goes.

Its stages, and the step of each:

- guest: cast to the agent of the host, which reports; a host that is down, unknown or none is not
  waited for, its agent finds out when it comes back. Other hosts that an operation under way had
  told of the instance are told of its end;
- records: release the allocation for good, mark the instance as deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary.context import RequestContext
from armillary.db import Database
from compute_agent.rpcapi import ComputeAPI
from conductor.cell_db import (
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
from conductor.cell_tasks import attempts, base
from conductor.cell_tasks.operations.flow import Side
from conductor.leases import Lease
from conductor.moments import Now
from objects.allocation import FENCE_FINAL
from objects.migration import MigrationStatus
from placement.rpcapi import PlacementAPI

LOG = logging.getLogger(__name__)

Work = base.Work[models.InstanceDelete]

GUEST = "guest"
RECORDS = "records"


class Delete(base.Task[models.InstanceDelete]):
    """Deletes of this cell's instances, from the wish to the end of the record."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        database: Database,
        placement: PlacementAPI,
        compute: ComputeAPI,
        now: Now,
        may_convict: Callable[[], bool],
        on_gone: Callable[[str, str], None] = lambda host, instance_uuid: None,
    ) -> None:
        super().__init__(
            conf,
            database=database,
            table=models.InstanceDelete,
            key=models.InstanceDelete.instance_uuid,
            now=now,
            may_convict=may_convict,
        )
        self._placement = placement
        self._compute = compute
        self._on_gone = on_gone

    @property
    def steps(self) -> Mapping[str, Callable[[RequestContext, list[Work]], list[Lease]]]:
        return {GUEST: self._destroy, RECORDS: self._free}

    def store(self, context: RequestContext, instance_uuid: str) -> list[Lease]:
        """Store the wish, and end a build of it; return a lease for :meth:`run`.

        None is returned when there is nothing to do: unknown, deleted, or being deleted already.
        """
        return self._database.run_in_writer(lambda s: self._store(s, context, instance_uuid))

    def guest_gone(self, session: Session, row: models.InstanceDelete, *, host: str) -> Lease:
        """Note in the caller's transaction that the guest is gone; :meth:`run` the lease after."""
        actions.finish_event(
            session, row.instance_uuid, actions.DELETE, actions.DELETE_EVENT,
            host=host, result=actions.SUCCESS, now=self._now,
        )  # fmt: skip
        return self._on_to_records(row)

    def _on_to_records(self, row: models.InstanceDelete) -> Lease:
        row.is_guest_gone = True
        row.tries = 0
        return self._hold_anew(row)

    def _stage(self, row: models.InstanceDelete) -> str:
        return RECORDS if row.is_guest_gone else GUEST

    def _list_rows(self, session: Session, uuids: Sequence[str]) -> Sequence[models.InstanceDelete]:
        return deletes.list_by_uuids(session, uuids)

    def _lock_rows(
        self, session: Session, uuids: Sequence[str]
    ) -> Mapping[str, models.InstanceDelete]:
        return deletes.lock_all(session, uuids)

    def _store(self, session: Session, context: RequestContext, instance_uuid: str) -> list[Lease]:
        instance = instances.lock(session, instance_uuid)
        if instance is None or instance.deleted_at is not None:
            return []
        if deletes.lock(session, instance_uuid) is not None:
            return []
        build = builds.lock(session, instance_uuid)
        if build is not None:
            attempts.cut_short(session, instance, build, now=self._now)
        others = self._cut_operation_short(session, instance)
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

    def _cut_operation_short(self, session: Session, instance: models.Instance) -> list[str]:
        """End what was being done to the instance; return the other hosts that know of it."""
        row = operations.lock(session, instance.uuid)
        if row is None:
            return []
        session.delete(row)
        actions.finish(session, instance.uuid, row.operation, message=actions.FAILED, now=self._now)
        sides = (row.facts.get(side) or {} for side in (Side.SOURCE, Side.DESTINATION))
        return sorted({side["host"] for side in sides if side.get("host")} - {instance.host})

    # Steps

    def _destroy(self, context: RequestContext, works: list[Work]) -> list[Lease]:
        """Ask the agents to destroy; go on without those that are down."""
        hosts = {work.instance.host for work in works if work.instance.host is not None}
        with self._database.reader() as session:
            moves = migrations.find_unfinished(session, [work.uuid for work in works])
            others = _other_ends(works, moves)
            found = services.find_by_hosts(session, hosts | {host for _uuid, host in others})
        self._clear_other_ends(context, works, others, found)
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
        return self._database.run_in_writer(lambda s: self._lose(s, lost)) if lost else []

    def _clear_other_ends(
        self,
        context: RequestContext,
        works: Sequence[Work],
        others: Iterable[tuple[str, str]],
        found: Mapping[str, models.Service],
    ) -> None:
        """Leave word where an instance was, or was to be; agents find out by themselves, later."""
        at = {work.uuid: work.instance.host for work in works}
        for uuid, host in others:
            service = found.get(host)
            if host == at[uuid] or service is None or service.agent is None:
                continue
            try:
                self._compute.delete_instance(context.for_instance(uuid), service.agent, uuid, host)
            except base.OUTCOME_UNKNOWN as error:
                LOG.debug("%s: no word left on %s: %s", uuid, host, error)

    def _lose(self, session: Session, works: Sequence[Work]) -> list[Lease]:
        """Delete locally what is on no host, or on one that is down, whose agent will reap it."""
        leases = []
        for work, instance, row in self._lock_ours(session, works):
            if instance.host is None:
                leases.append(self._on_to_records(row))
                continue
            LOG.info("%s: deleted locally, %s is down", work.uuid, instance.host)
            details = f"host {instance.host} is down; its agent reaps the guest when it is back"
            actions.finish_event(
                session, work.uuid, actions.DELETE, actions.LOCAL_DELETE_EVENT,
                host=instance.host, result=actions.SUCCESS, details=details, now=self._now,
            )  # fmt: skip
            leases.append(self._on_to_records(row))
        return leases

    def _free(self, context: RequestContext, works: list[Work]) -> list[Lease]:
        """Release the allocations for good, then mark the instances as deleted.

        What a copy's instance holds is released by the cell that has it. Other hosts are told once
        more: nobody answers for them, and a word that was lost would leave a guest there until its
        agent compares.
        """
        ours = [work.uuid for work in works if not work.instance.hidden]
        with self._database.reader() as session:
            moves = migrations.find_unfinished(session, [work.uuid for work in works])
            others = _other_ends(works, moves)
            hosts = {host for _uuid, host in others}
            found = services.find_by_hosts(session, hosts) if hosts else {}
        self._clear_other_ends(context, works, others, found)
        consumers = ours + [move.uuid for move in moves if move.instance_uuid in ours]
        if consumers:
            self._placement.release(context, dict.fromkeys(consumers, FENCE_FINAL))
        buried = self._database.run_in_writer(lambda session: self._bury(session, works))
        for uuid, host in buried.items():
            self._on_gone(host, uuid)
        return []

    def _bury(self, session: Session, works: Sequence[Work]) -> dict[str, str]:
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


def _other_ends(works: Sequence[Work], moves: Sequence[models.Migration]) -> list[tuple[str, str]]:
    """Return where each instance was, or was to be: where it is comes along if a move names it."""
    ends = [(move.instance_uuid, host) for move in moves for host in _ends(move)]
    ends += [(work.uuid, host) for work in works for host in work.row.other_hosts or ()]
    return list(dict.fromkeys(ends))


def _ends(move: models.Migration) -> list[str]:
    """Return the hosts at both ends of a move."""
    return [host for host in (move.source_host, move.dest_host) if host is not None]
