"""Periodic operations on instances that are due, without a request.

Confirm resizes after the confirm window, offload shelved instances, and release what evacuated
instances hold on a host that is back. The super conductor deletes soft-deleted instances.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.db import Database
from compute_agent.interface import ComputeAPI
from conductor.cell_conductor.operations.evacuate import without
from conductor.common.cell_db import compute_nodes, instances, migrations, models, services
from conductor.common.cell_db.flow_states import Evacuated
from conductor.common.clock import Clock, moment
from objects.allocation import AllocationClaim
from objects.fence import Fence
from objects.instances.migration import MigrationStatus
from placement.interface import PlacementAPI

LOG = logging.getLogger(__name__)

BATCH_SIZE = 100

Begin = Callable[[RequestContext, str, str], None]
"""Begins an operation (by name) on an instance; raises Conflict if another one was first."""


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

    def run(self) -> int:
        """Do what is due, one batch of each kind; return how many were started."""
        conf = self._conf
        count = 0
        if conf.resize_confirm_window > 0:
            count += self._begin_all("resized", conf.resize_confirm_window, "confirm_resize")
        if conf.shelved_offload_time >= 0:
            count += self._begin_all("shelved", conf.shelved_offload_time, "shelve_offload")
        return count + self._clear_evacuated()

    def _begin_all(self, vm_state: str, age_seconds: float, operation: str) -> int:
        due = self._due(vm_state, age_seconds)
        for uuid in due:
            try:
                self._begin(admin_context(), uuid, operation)
            except (exception.Conflict, exception.NotFound) as error:
                LOG.debug("%s: cannot begin %s: %s", uuid, operation, error)
        return len(due)

    def clear_host(self, host: str) -> None:
        """Release what evacuated instances hold on a host that will not come back."""
        with self._database.reader() as session:
            waiting = migrations.list_done_evacuations(session, limit=None)
        for move in waiting:
            if move.source_host == host:
                self._clear(move, None)

    def _due(self, vm_state: str, age_seconds: float) -> list[str]:
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
        """Have the leftover guest destroyed, then release its allocation."""
        context = admin_context().for_instance(move.instance_uuid)
        if service is not None and service.agent is not None:
            self._compute.forget_attempt(
                context, service.agent, move.instance_uuid, service.host,
                Evacuated.of_migration(move).attempt,
            )  # fmt: skip
        with self._database.reader() as session:
            instance = instances.find_rows(session, [move.instance_uuid]).get(move.instance_uuid)
            nodes = compute_nodes.uuids_of_hosts(session, [str(move.source_host)])
        is_alive = instance is not None and instance.deleted_at is None
        is_elsewhere = instance is not None and instance.host != move.source_host
        if instance is not None and is_alive and is_elsewhere:
            if instance.task_state is not None or instance.vm_state == "resized":
                return  # the operation or resize in progress writes its allocations, too
            if not self._free(context, instance, nodes):
                return
        self._database.run_in_writer(lambda session: _complete(session, move.uuid))
        LOG.info("%s: cleaned up on evacuated host %s", move.instance_uuid, move.source_host)

    def _free(
        self, context: RequestContext, instance: models.Instance, nodes: Sequence[str]
    ) -> bool:
        """Remove these nodes from the instance's allocations; False if another write was first."""
        held: dict[str, Any] = self._placement.get_allocations(context, [instance.uuid])
        present = held.get(instance.uuid, {})
        kept = without(present, set(nodes))
        if kept == present or not kept:
            return True
        claim = AllocationClaim.from_values(
            consumer_uuid=instance.uuid,
            project_id=instance.project_id,
            user_id=instance.user_id,
            allocations=kept,
            fence=int(Fence.at_rest(instance.operations_total)),
            replace=True,
        )
        (result,) = self._placement.claim(context, [claim])
        return bool(result.is_claimed)


def _is_back(service: models.Service | None) -> bool:
    """Return whether a host is back, or its service deleted."""
    return service is None or (service.is_up and not service.forced_down)


def _complete(session: Session, migration_uuid: str) -> None:
    move = migrations.find(session, migration_uuid)
    if move is not None:
        move.status = MigrationStatus.COMPLETED
