"""Operations: take each instance's flow from stage to stage, whoever dies meanwhile.

A stage is stored before it is acted on. What is not answered is ordered again when the lease runs
out, and the agent answers the same order the same way; ``answers`` takes what it says.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from armillary.service_history import TAKES_ORDERS
from compute_agent.rpcapi import ComputeAPI
from conductor import stored_contexts
from conductor.cell_db import actions, copies, instances, migrations, models, operations, services
from conductor.cell_tasks import base
from conductor.cell_tasks.operations import orders, waiting
from conductor.cell_tasks.operations.answers import Answers
from conductor.cell_tasks.operations.flow import (
    AgentStage,
    Flow,
    OwnStage,
    Parts,
    Side,
    SuperStage,
)
from conductor.cell_tasks.operations.flows import FLOWS
from conductor.cell_tasks.operations.other_cells import OtherCells, is_between_cells
from conductor.cell_tasks.operations.passage import Passage
from conductor.cell_tasks.operations.rows import HOLD, fence
from conductor.leases import Lease
from conductor.moments import Now
from conductor.rpcapi import SuperConductorAPI
from objects.instance_fault import InstanceFault
from objects.instance_order import InstanceOrder
from objects.server_record import ServerRecord
from placement.rpcapi import PlacementAPI
from rpc.version_caps import allows

LOG = logging.getLogger(__name__)

Work = base.Work[models.InstanceOperation]

ORDER = "order"
ACT = "act"
WAIT = "wait"

ORDERS_SINCE = "1.1"
"""The version of the agents' API that has orders."""
WAIT_EVENT = "conductor_wait_for_cell"


@dataclasses.dataclass(frozen=True)
class Stored:
    """An operation that was stored: its first fence, and what is to be run for it."""

    fence: int
    leases: list[Lease]


class Operations(base.Task[models.InstanceOperation]):
    """Operations on this cell's instances, from the wish to the end.

    ``on_rest`` is told (instance UUID) when one is over, or waits.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        database: Database,
        placement: PlacementAPI,
        compute: ComputeAPI,
        now: Now,
        may_convict: Callable[[], bool],
        top: SuperConductorAPI,
        flows: Mapping[str, Flow] = FLOWS,
        on_rest: Callable[[str], None] = lambda instance_uuid: None,
    ) -> None:
        super().__init__(
            conf,
            database=database,
            table=models.InstanceOperation,
            key=models.InstanceOperation.instance_uuid,
            now=now,
            may_convict=may_convict,
        )
        self._top = top
        self._others = OtherCells(conf, database, top)
        self._parts = Parts(conf, placement, self._others)
        self._compute = compute
        self._flows = flows
        self._on_rest = on_rest
        self._passage = Passage(
            flows, now=now, hold=self._hold_anew, pause_seconds=self._pause_seconds,
            ask_seconds=conf.conductor.lease_seconds,
        )  # fmt: skip
        self.answers = Answers(
            database=database,
            passage=self._passage,
            others=self._others,
            compute=compute,
            now=now,
            on_rest=on_rest,
        )

    @property
    def steps(self) -> Mapping[str, Callable[[RequestContext, list[Work]], list[Lease]]]:
        return {ORDER: self._order, ACT: self._act, WAIT: self._ask_after}

    # What is asked

    def store(
        self,
        context: RequestContext,
        instance_uuid: str,
        operation: str,
        arguments: Mapping[str, Any],
    ) -> Stored:
        """Store the wish; the leases are for :meth:`run`, none for the super conductor's stages.

        The same migration twice is fine. Raises InstanceNotFound; InstanceInvalidState when the
        instance is in no state for it; Invalid.
        """
        flow = self._flows.get(operation)
        if flow is None:
            raise exception.Invalid(reason=f"there is no operation {operation!r}")
        return self._database.run_in_writer(
            lambda session: self._store(session, context, instance_uuid, flow, arguments)
        )

    def go_on(
        self, instance_uuid: str, migration_uuid: str, facts: Mapping[str, Any]
    ) -> list[Lease]:
        """Leave the super conductor's stage with what it found out; twice is fine.

        Raises Conflict when the operation is not there any more.
        """
        return self._leave_super(instance_uuid, migration_uuid, facts, is_failed=False)

    def fail(self, instance_uuid: str, migration_uuid: str, fault: InstanceFault) -> list[Lease]:
        """Leave the super conductor's stage because it found no way; twice is fine.

        Raises Conflict when the operation is not there any more.
        """
        facts = {"fault": fault.obj_to_primitive()}
        return self._leave_super(instance_uuid, migration_uuid, facts, is_failed=True)

    # Of a task

    def _stage(self, row: models.InstanceOperation) -> str:
        stage = self._passage.stage_of(row)
        if isinstance(stage, AgentStage):
            return ORDER
        return ACT if isinstance(stage, OwnStage) else WAIT

    def _list_rows(
        self, session: Session, uuids: Sequence[str]
    ) -> Sequence[models.InstanceOperation]:
        return operations.list_by_uuids(session, uuids)

    def _lock_rows(
        self, session: Session, uuids: Sequence[str]
    ) -> Mapping[str, models.InstanceOperation]:
        return operations.lock_all(session, uuids)

    # Storing

    def _store(
        self,
        session: Session,
        context: RequestContext,
        instance_uuid: str,
        flow: Flow,
        arguments: Mapping[str, Any],
    ) -> Stored:
        instance = instances.lock(session, instance_uuid)
        if instance is None or instance.deleted_at is not None:
            raise exception.InstanceNotFound(instance_uuid=instance_uuid)
        present = operations.lock(session, instance_uuid)
        migration_uuid = arguments.get("migration_uuid")
        if present is not None and migration_uuid and present.migration_uuid == migration_uuid:
            return Stored(fence(present, HOLD), [])
        if migration_uuid and migrations.find(session, migration_uuid) is not None:
            raise exception.InstanceInvalidState(  # asked again, late: it is over
                instance_uuid=instance_uuid,
                operation=flow.operation,
                reason=f"its migration {migration_uuid} is over",
            )
        if actions.is_over(session, instance_uuid, flow.operation, context.request_id):
            raise exception.InstanceInvalidState(  # asked again, late; it may not be wanted now
                instance_uuid=instance_uuid,
                operation=flow.operation,
                reason=f"request {context.request_id} for it is over",
            )
        if instance.hidden:
            raise exception.InstanceInvalidState(
                instance_uuid=instance_uuid, operation=flow.operation, reason="it changes its cell"
            )
        flow.check(instance)
        instance.operations_total += 1
        row = models.InstanceOperation(
            instance_uuid=instance_uuid,
            operation=flow.operation,
            stage="",
            sequence=0,
            number=instance.operations_total,
            migration_uuid=migration_uuid,
            facts={
                "was": instance.vm_state,
                "power_state": instance.power_state,
                "cell_uuid": self._conf.cell.uuid,
            },
            context=stored_contexts.to_plain(context),
            tries=0,
            created_at=self._now,
            lease_owner=None,
            lease_expires_at=0.0,
        )
        session.add(row)
        instance.task_state = flow.task_state
        instance.updated_at = self._now
        actions.start_for_row(session, context, flow.operation, instance, now=self._now)
        flow.begin(self._passage.rows(session, instance, row), arguments)
        self._check_host(session, flow, instance, row)
        leases = self._passage.enter(self._passage.rows(session, instance, row), flow.first)
        return Stored(fence(row, HOLD), leases)

    def _check_host(
        self,
        session: Session,
        flow: Flow,
        instance: models.Instance,
        row: models.InstanceOperation,
    ) -> None:
        """Raise InstanceInvalidState when the host that a flow cannot do without is down.

        Raises HostTooOld when its agent does not know operations yet. About a host of another cell
        the super conductor asked that cell.
        """
        if flow.needs is None or orders.cell_at(row, flow.needs) is not None:
            return
        host = orders.host_at(instance, row, flow.needs)
        if host is None:
            return
        service = services.find_by_hosts(session, {host}).get(host)
        if not self._is_host_up(service):
            raise exception.InstanceInvalidState(
                instance_uuid=instance.uuid,
                operation=flow.operation,
                reason=f"host {host} is down; wait until it is back, or have the server evacuated",
            )
        if not self._takes_orders(service):
            raise exception.HostTooOld(operation=flow.operation, needed=TAKES_ORDERS, hosts=host)

    def _leave_super(
        self, instance_uuid: str, migration_uuid: str, facts: Mapping[str, Any], *, is_failed: bool
    ) -> list[Lease]:
        def write(session: Session) -> list[Lease]:
            instance = instances.lock(session, instance_uuid)
            row = operations.lock(session, instance_uuid)
            if instance is None or row is None or row.migration_uuid != migration_uuid:
                raise exception.Conflict(
                    reason=f"instance {instance_uuid} is not in migration {migration_uuid} any more"
                )
            stage = self._passage.stage_of(row)
            if not isinstance(stage, SuperStage):
                return []
            rows = self._passage.rows(session, instance, row)
            rows.note(**facts)
            return self._passage.enter(rows, stage.failed if is_failed else stage.then)

        return self._database.run_in_writer(write)

    # Steps

    def _order(self, context: RequestContext, works: list[Work]) -> list[Lease]:
        """Tell the agents; where a host is down go on without it, or wait for it."""
        leases: list[Lease] = []
        here = []
        for work in works:
            to_cell_uuid = orders.cell_at(work.row, self._agents(work).at)
            if to_cell_uuid is None:
                here.append(work)
            else:
                leases += self._order_elsewhere(context, work, to_cell_uuid)
        return leases + (self._order_here(context, here) if here else [])

    def _order_elsewhere(
        self, context: RequestContext, work: Work, to_cell_uuid: str
    ) -> list[Lease]:
        """Have a host of another cell told; a cell that is silent, or busy, is waited for."""
        order = self._make_order(work)
        try:
            reason = self._others.order(
                context.for_instance(work.uuid), work.row, order, to_cell_uuid=to_cell_uuid
            )
        except (*base.OUTCOME_UNKNOWN, exception.Conflict) as error:
            self._wait(work, error)
            return []
        if reason is None:
            return []
        fault = _unreached(work.uuid, order.host, reason)
        return self._database.run_in_writer(lambda session: self._go_without(session, work, fault))

    def _go_without(self, session: Session, work: Work, fault: InstanceFault) -> list[Lease]:
        stage = self._agents(work)
        leases: list[Lease] = []
        for _work, instance, row in self._lock_ours(session, [work]):
            rows = self._passage.rows(session, instance, row)
            leases += self._passage.take_failure(rows, stage, fault, stage.down or row.stage)
        return leases

    def _wait(self, work: Work, error: Exception) -> None:
        """Ask the other cell again later; the server's actions show what keeps it."""
        LOG.warning("%s: %s waits: %s", work.uuid, work.row.operation, error)
        self._database.run_in_writer(
            lambda session: actions.finish_event(
                session, work.uuid, work.row.operation, WAIT_EVENT,
                host=None, attempt=work.row.sequence, result=actions.ERROR,
                details=f"waits at {work.row.stage}: {error}", now=self._now,
            )
        )  # fmt: skip
        self._give_back([work])

    def _order_here(self, context: RequestContext, works: Sequence[Work]) -> list[Lease]:
        hosts = {work.uuid: orders.host_of(work.instance, work.row, self._agents(work))
                 for work in works}  # fmt: skip
        with self._database.reader() as session:
            found = services.find_by_hosts(session, {host for host in hosts.values() if host})
        lost = []
        for work in works:
            service = found.get(str(hosts[work.uuid]))
            if self._is_host_up(service) and self._takes_orders(service):
                self._tell(context, work, str(service and service.agent))
            else:
                lost.append(work)
        return self._lose(lost, hosts) if lost else []

    def _tell(self, context: RequestContext, work: Work, agent: str) -> None:
        order = self._make_order(work)
        LOG.info("%s: order %d, %s on %s", work.uuid, order.sequence, order.verb, order.host)
        self._compute.carry_out(context.for_instance(work.uuid), agent, order)

    def _make_order(self, work: Work) -> InstanceOrder:
        return orders.make(
            work.instance, work.row, self._agents(work), cell_uuid=self._conf.cell.uuid
        )

    def tell_for_other_cell(
        self, context: RequestContext, record: ServerRecord, order: InstanceOrder
    ) -> str | None:
        """Tell a host an order of the cell that has an instance; return why it cannot be told.

        Raises Conflict when there is no such move (any more).
        """
        host = order.host
        self._database.run_in_writer(lambda session: copies.keep(session, record, now=self._now))
        with self._database.reader() as session:
            service = services.find_by_hosts(session, {host}).get(host)
        if not (self._is_host_up(service) and self._takes_orders(service)):
            return str(self._why_not_told(record.instance.uuid, host, service).details)
        assert service is not None
        LOG.info(
            "%s: order %d of another cell, %s on %s",
            record.instance.uuid, order.sequence, order.verb, host,
        )  # fmt: skip
        self._compute.carry_out(
            context.for_instance(record.instance.uuid), str(service.agent), order
        )
        return None

    def take_over(self, record: ServerRecord) -> None:
        """Have from now on what another cell had. Raises Conflict when there is no such move."""
        self._database.run_in_writer(
            lambda session: copies.take_over(session, record, now=self._now)
        )
        self._on_rest(record.instance.uuid)

    def drop_copy(self, instance_uuid: str, migration_uuid: str) -> None:
        """Bury what is left of an instance after a move."""
        self._database.run_in_writer(
            lambda session: copies.drop(session, instance_uuid, migration_uuid, now=self._now)
        )

    def _lose(self, works: Sequence[Work], hosts: Mapping[str, str | None]) -> list[Lease]:
        def write(session: Session) -> list[Lease]:
            leases: list[Lease] = []
            for work, instance, row in self._lock_ours(session, works):
                stage = self._agents(work)
                rows = self._passage.rows(session, instance, row)
                host = str(hosts[work.uuid])
                service = services.find_by_hosts(session, {host}).get(host)
                fault = self._why_not_told(work.uuid, host, service)
                is_left = stage.at is Side.DESTINATION or not self._is_host_up(service)
                following = stage.down if is_left else None  # who is only too old is waited for
                leases += self._passage.take_failure(rows, stage, fault, following or row.stage)
            return leases

        return self._database.run_in_writer(write)

    def _act(self, context: RequestContext, works: list[Work]) -> list[Lease]:
        leases: list[Lease] = []
        for work in works:
            stage = self._passage.stage_of(work.row)
            assert isinstance(stage, OwnStage)
            try:
                following = stage.do(self._parts, context, work.instance, work.row)
            except (exception.CellUnavailable, exception.Conflict) as error:
                if not is_between_cells(work.row.facts):
                    raise
                self._wait(work, error)
            else:
                leases += self._acted(work, stage, following)
        return leases

    def _acted(self, work: Work, stage: OwnStage, following: str) -> list[Lease]:
        def write(session: Session) -> list[Lease]:
            leases: list[Lease] = []
            for _work, instance, row in self._lock_ours(session, [work]):
                rows = self._passage.rows(session, instance, row)
                stage.done(rows, following)
                leases += self._passage.enter(rows, following)
            return leases

        leases = self._database.run_in_writer(write)
        if not leases:
            self._on_rest(work.uuid)
        return leases

    def _ask_after(self, context: RequestContext, works: list[Work]) -> list[Lease]:
        """Wait on for the super conductor where it still seeks hosts; undo the rest."""
        moves = {str(work.row.migration_uuid) for work in works}
        sought = waiting.sought(self._top, context, moves)
        self._give_back([work for work in works if work.row.migration_uuid in sought])
        lost = [work for work in works if work.row.migration_uuid not in sought]
        if not lost:
            return []
        return self._database.run_in_writer(lambda session: self._take_back(session, lost))

    def _take_back(self, session: Session, works: Sequence[Work]) -> list[Lease]:
        leases: list[Lease] = []
        for work, instance, row in self._lock_ours(session, works):
            stage = self._passage.stage_of(row)
            assert isinstance(stage, SuperStage)
            LOG.warning("%s: nobody seeks hosts for its %s", work.uuid, row.operation)
            rows = self._passage.rows(session, instance, row)
            rows.note(fault=waiting.taken_back(work.uuid).obj_to_primitive())
            leases += self._passage.enter(rows, stage.failed)
        return leases

    def _takes_orders(self, service: models.Service | None) -> bool:
        """Tell whether an agent knows orders, and may be sent them."""
        return (
            service is not None
            and service.version >= TAKES_ORDERS
            and allows(self._conf, "compute", ORDERS_SINCE)
        )

    def _why_not_told(
        self, instance_uuid: str, host: str, service: models.Service | None
    ) -> InstanceFault:
        details = f"host {host} is down"
        if self._is_host_up(service) and not self._takes_orders(service):
            details = (
                f"the agent of host {host} takes no orders: it has to be of service version "
                f"{TAKES_ORDERS} or later, and [upgrade_levels] compute to allow {ORDERS_SINCE}"
            )
        return _unreached(instance_uuid, host, details)

    def _agents(self, work: Work) -> AgentStage:
        stage = self._passage.stage_of(work.row)
        assert isinstance(stage, AgentStage)
        return stage


def _unreached(instance_uuid: str, host: str, details: str) -> InstanceFault:
    return InstanceFault.from_values(
        instance_uuid=instance_uuid,
        host=host,
        message="The host cannot be reached.",
        details=details,
    )
