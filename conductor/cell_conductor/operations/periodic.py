"""Periodic operations on instances that are due, without a request.

Confirm resizes after the confirm window, offload shelved instances, turn off guests that were
soft-deleted while their host was down, and release what evacuated instances hold on a host that is
back. The super conductor deletes soft-deleted instances.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence
from datetime import timedelta

import sqlalchemy as sa
from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.db import Database
from compute_agent.interface import ComputeAPI
from conductor.cell_conductor.operations.evacuate import without
from conductor.cell_conductor.operations.soft_delete import SOFT_DELETED
from conductor.common import leased_work
from conductor.common.cell_db import compute_nodes, instances, migrations, models, services
from conductor.common.cell_db.flow_states import Evacuated
from conductor.common.clock import Clock, moment
from conductor.common.leased_work import Step
from objects.allocations.allocation import AllocationClaim
from objects.allocations.fence import Fence
from objects.instances.migration import MigrationStatus
from objects.instances.operation_arguments import CellOperation
from placement.interface import PlacementAPI

LOG = logging.getLogger(__name__)

BATCH_SIZE = 100

Begin = Callable[[RequestContext, str, str, CellOperation], object]
"""Begins an operation (by name) on an instance; raises Conflict if another one was first."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Evacuated:
    """An evacuated instance, and its former host if that has come back."""

    context: RequestContext
    move: models.Migration
    service: models.Service | None


class PeriodicOperations:
    """Periodic work of every conductor of a cell.

    If two begin the same operation, one of them is refused.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        database: Database,
        placement: PlacementAPI,
        compute: ComputeAPI,
        begin: Begin,
        now: Clock,
    ) -> None:
        self._conf = conf
        self._database = database
        self._placement = placement
        self._compute = compute
        self._begin = begin
        self._now = now
        # The cleanup after an evacuation; nothing is undone, each step may be repeated.
        self.steps: Sequence[Step[_Evacuated, None]] = (
            Step("destroy leftover guest", self._destroy_leftover),
            Step("release source allocation", self._release_source),
            Step("complete evacuation", self._complete),
        )

    def run(self) -> int:
        """Do what is due, one batch of each kind; return how many were started."""
        conf = self._conf
        count = 0
        if conf.resize_confirm_window > 0:
            count += self._begin_all("resized", conf.resize_confirm_window, "confirm_resize")
        if conf.shelved_offload_time >= 0:
            failed = models.Instance.migration_payload[instances.OFFLOAD_FAILED]
            count += self._begin_all(
                "shelved", conf.shelved_offload_time, "shelve_offload", failed.as_string().is_(None)
            )
        count += self._begin_all(SOFT_DELETED, 0, "soft_delete", *_runs_on_a_host_that_is_up())
        return count + self._clear_evacuated()

    def _begin_all(
        self, vm_state: str, age_seconds: float, operation: str, *more: sa.ColumnElement[bool]
    ) -> int:
        due = self._due(vm_state, age_seconds, more)
        for uuid in due:
            try:
                self._begin(admin_context(), uuid, operation, CellOperation())
            except (exception.Conflict, exception.NotFound) as error:
                LOG.debug("%s: cannot begin %s: %s", uuid, operation, error)
        return len(due)

    def clear_host(self, host: str) -> None:
        """Release what evacuated instances hold on a host that will not come back."""
        waiting = self._database.read(migrations.list_done_evacuations, limit=None)
        for move in waiting:
            if move.source_host == host:
                self._clear(move, None)

    def _due(
        self, vm_state: str, age_seconds: float, more: Sequence[sa.ColumnElement[bool]]
    ) -> list[str]:
        limit = moment(self._now()) - timedelta(seconds=age_seconds)
        row = models.Instance
        query = (
            sa.select(row.uuid)
            .where(
                row.vm_state == vm_state,
                row.task_state.is_(None),
                row.deleted_at.is_(None),
                row.hidden.is_(False),
                row.updated_at <= limit,
                *more,
            )
            .order_by(row.updated_at)
            .limit(BATCH_SIZE)
        )
        with self._database.reader() as session:
            return list(session.scalars(query))

    # Evacuations --------------------------------------------------------------------------------

    def _clear_evacuated(self) -> int:
        with self._database.reader() as session:
            waiting = migrations.list_done_evacuations(session, limit=BATCH_SIZE)
            found = services.find_by_hosts(session, {str(move.source_host) for move in waiting})
        back = [move for move in waiting if _is_back(found.get(str(move.source_host)))]
        for move in back:
            self._clear(move, found.get(str(move.source_host)))
        return len(back)

    def _clear(self, move: models.Migration, service: models.Service | None) -> None:
        """Clean up the former host of an evacuated instance; None: the host is deleted."""
        context = admin_context().for_instance(move.instance_uuid)
        try:
            leased_work.run(_Evacuated(context, move, service), self.steps)
        except exception.Conflict as error:
            LOG.debug("%s: not cleaned up yet: %s", move.instance_uuid, error)

    def _destroy_leftover(self, evacuated: _Evacuated) -> None:
        move, service = evacuated.move, evacuated.service
        if service is not None and service.agent is not None:
            self._compute.forget_attempt(
                evacuated.context, service.agent, move.instance_uuid, service.host,
                Evacuated.of_migration(move).attempt,
            )  # fmt: skip

    def _release_source(self, evacuated: _Evacuated) -> None:
        """Remove the former host from the instance's allocations.

        Raises Conflict while the instance is busy, or if another write of them was first.
        """
        move = evacuated.move
        with self._database.reader() as session:
            instance = instances.find_rows(session, [move.instance_uuid]).get(move.instance_uuid)
            nodes = compute_nodes.uuids_of_hosts(session, [str(move.source_host)])
        if instance is None or instance.deleted_at is not None or instance.host == move.source_host:
            return
        if instance.task_state is not None or instance.vm_state == "resized":
            raise exception.Conflict(
                reason="the operation or resize in progress writes its allocations, too"
            )
        held = self._placement.get_allocations(evacuated.context, [instance.uuid])
        present = held.get(instance.uuid, {})
        kept = without(present, set(nodes))
        if kept == present or not kept:
            return
        claim = AllocationClaim(
            consumer_uuid=instance.uuid,
            project_id=instance.project_id,
            user_id=instance.user_id,
            allocations=kept,
            fence=int(Fence.at_rest(instance.operations_total)),
            replace=True,
        )
        (result,) = self._placement.claim(evacuated.context, [claim])
        if not result.is_claimed:
            raise exception.Conflict(reason=f"its allocations were not replaced: {result.reason}")

    def _complete(self, evacuated: _Evacuated) -> None:
        def write(session: Session) -> None:
            move = migrations.find(session, evacuated.move.uuid)
            if move is not None:
                move.status = MigrationStatus.COMPLETED

        move = evacuated.move
        self._database.run_in_writer(write)
        LOG.info("%s: cleaned up on evacuated host %s", move.instance_uuid, move.source_host)


def _runs_on_a_host_that_is_up() -> list[sa.ColumnElement[bool]]:
    up = sa.select(models.Service.host).where(
        models.Service.is_up.is_(True), models.Service.forced_down.is_(False)
    )
    return [models.Instance.power_state == "running", models.Instance.host.in_(up)]


def _is_back(service: models.Service | None) -> bool:
    """Return whether a host is back, or its service deleted."""
    return service is None or (service.is_up and not service.forced_down)
