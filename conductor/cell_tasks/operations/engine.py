"""Operations: take each instance's flow from stage to stage, whoever dies meanwhile.

A stage is stored before it is acted on. An agent's answer counts when it is to the order that the
row waits for; what is not answered is ordered again when the lease runs out, and the agent answers
the same order the same way.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.db import Database
from armillary.service_history import TAKES_ORDERS
from compute_agent.rpcapi import ComputeAPI
from conductor import stored_contexts
from conductor.cell_db import (
    actions,
    copies,
    faults,
    instances,
    migrations,
    models,
    operations,
    services,
    telling,
)
from conductor.cell_tasks import base
from conductor.cell_tasks.operations import orders
from conductor.cell_tasks.operations.flow import (
    DONE,
    TRIES_MAX,
    UNDONE,
    AgentStage,
    Flow,
    OwnStage,
    Parts,
    Side,
    Stage,
    SuperStage,
)
from conductor.cell_tasks.operations.flows import FLOWS
from conductor.cell_tasks.operations.other_cells import OtherCells, is_between_cells
from conductor.cell_tasks.operations.rows import HOLD, Rows, fence
from conductor.leases import Lease
from conductor.moments import Now
from conductor.rpcapi import SuperConductorAPI
from objects.instance_fault import InstanceFault
from objects.instance_order import InstanceOrder
from objects.migration import MigrationStatus
from objects.server_record import ServerRecord
from placement.rpcapi import PlacementAPI
from rpc.version_caps import allows

LOG = logging.getLogger(__name__)

Work = base.Work[models.InstanceOperation]

ORDER = "order"
ACT = "act"
WAIT = "wait"

FOREVER = 1e12
"""The end of a lease that nobody here is to take up, in seconds since 1970."""
ORDERS_SINCE = "1.1"
"""The version of the agents' API that has orders."""
WAIT_EVENT = "conductor_wait_for_cell"
ACCEPTED = "accepted"
STALE = "stale"

_PHASES = {None: "start", actions.SUCCESS: "end", actions.ERROR: "error"}
"""How far a host is with an order -> how that is told."""


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
        self._others = OtherCells(conf, database, top)
        self._parts = Parts(conf, placement, self._others)
        self._compute = compute
        self._flows = flows
        self._on_rest = on_rest

    @property
    def steps(self) -> Mapping[str, Callable[[RequestContext, list[Work]], list[Lease]]]:
        return {ORDER: self._order, ACT: self._act}

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

    # What is answered

    def answered(
        self,
        agent: str,
        host: str,
        instance_uuid: str,
        sequence: int,
        *,
        answer: Mapping[str, Any],
        fault: InstanceFault | None,
    ) -> tuple[str, list[Lease]]:
        """Take an agent's answer; the leases are for :meth:`run`.

        That to an order of another cell goes there. Raises what ``OtherCells`` does.
        """

        def judge(session: Session) -> tuple[str, list[Lease]]:
            found = self._find_ordered(session, agent, host, instance_uuid, sequence)
            if found is None:
                return self._judge_stranger(session, agent, host, instance_uuid), []
            return ACCEPTED, self._take_answer(session, *found, answer, fault)

        found, leases = self._database.run_in_writer(judge)
        if found not in (ACCEPTED, STALE):  # the move that the order is of
            move = (host, instance_uuid, found, sequence)
            try:
                found = self._others.answer(admin_context(), *move, answer=answer, fault=fault)
            except exception.Conflict:
                found = STALE  # the move is over, or its instance is being deleted
        self._note_answered(found, leases, host, instance_uuid, sequence, fault)
        return found, leases

    def answered_elsewhere(
        self,
        host: str,
        instance_uuid: str,
        migration_uuid: str,
        sequence: int,
        *,
        answer: Mapping[str, Any],
        fault: InstanceFault | None,
    ) -> tuple[str, list[Lease]]:
        """Take the answer of another cell's agent; the leases are for :meth:`run`."""

        def judge(session: Session) -> tuple[str, list[Lease]]:
            found = self._find_told_elsewhere(
                session, host, instance_uuid, migration_uuid, sequence
            )
            if found is None:
                return STALE, []
            return ACCEPTED, self._take_answer(session, *found, answer, fault)

        found, leases = self._database.run_in_writer(judge)
        self._note_answered(found, leases, host, instance_uuid, sequence, fault)
        return found, leases

    def _note_answered(
        self,
        found: str,
        leases: Sequence[Lease],
        host: str,
        instance_uuid: str,
        sequence: int,
        fault: InstanceFault | None,
    ) -> None:
        if found == ACCEPTED and not leases:
            self._on_rest(instance_uuid)
        LOG.info(
            "%s: answer to order %d on %s (%s) is %s",
            instance_uuid, sequence, host, "done" if fault is None else fault.message, found,
        )  # fmt: skip

    @staticmethod
    def _judge_stranger(session: Session, agent: str, host: str, instance_uuid: str) -> str:
        """Return the move of another cell that an order may be of, or that it is stale."""
        return copies.move_of(session, instance_uuid, agent, host) or STALE

    def is_wanted(self, agent: str, host: str, instance_uuid: str, sequence: int) -> bool:
        """Return whether the answer to an order is waited for, here or in another cell."""

        def look(session: Session) -> str:
            if self._find_ordered(session, agent, host, instance_uuid, sequence) is not None:
                return ACCEPTED
            return self._judge_stranger(session, agent, host, instance_uuid)

        found = self._database.run_in_writer(look)
        if found in (ACCEPTED, STALE):
            return found == ACCEPTED
        try:
            return self._others.is_wanted(admin_context(), host, instance_uuid, found, sequence)
        except exception.Conflict:
            return False

    def is_wanted_elsewhere(
        self, host: str, instance_uuid: str, migration_uuid: str, sequence: int
    ) -> bool:
        """Return whether the answer of another cell's agent to an order is waited for."""
        return self._database.run_in_writer(
            lambda session: (
                self._find_told_elsewhere(session, host, instance_uuid, migration_uuid, sequence)
                is not None
            )
        )

    def _find_ordered(
        self, session: Session, agent: str, host: str, instance_uuid: str, sequence: int
    ) -> tuple[models.Instance, models.InstanceOperation, AgentStage] | None:
        """Lock what an order is about; None unless it is the one that is waited for."""
        found = self._find_waiting(session, host, instance_uuid, sequence)
        if found is None or orders.cell_at(found[1], found[2].at) is not None:
            return None
        return found if services.is_carried_by(session, host, agent) else None

    def _find_told_elsewhere(
        self, session: Session, host: str, instance_uuid: str, migration_uuid: str, sequence: int
    ) -> tuple[models.Instance, models.InstanceOperation, AgentStage] | None:
        """As the former, of an order to a host of another cell, which knows its agents."""
        found = self._find_waiting(session, host, instance_uuid, sequence)
        if found is None or found[1].migration_uuid != migration_uuid:
            return None
        return None if orders.cell_at(found[1], found[2].at) is None else found

    def _find_waiting(
        self, session: Session, host: str, instance_uuid: str, sequence: int
    ) -> tuple[models.Instance, models.InstanceOperation, AgentStage] | None:
        instance = instances.lock(session, instance_uuid)
        row = operations.lock(session, instance_uuid)
        if instance is None or row is None or row.sequence != sequence:
            return None
        stage = self._stage_of(row)
        if not isinstance(stage, AgentStage) or orders.host_of(instance, row, stage) != host:
            return None
        return instance, row, stage

    def progressed(
        self,
        agent: str,
        host: str,
        instance_uuid: str,
        sequence: int,
        *,
        total_mb: int,
        remaining_mb: int,
    ) -> None:
        """Note how far a live migration is, if that is the one under way."""

        def write(session: Session) -> None:
            row = operations.lock(session, instance_uuid)
            if row is None or row.sequence != sequence or row.migration_uuid is None:
                return
            move = migrations.find(session, row.migration_uuid)
            if move is None or not services.is_carried_by(session, host, agent):
                return
            if move.status == MigrationStatus.QUEUED:
                move.status = MigrationStatus.RUNNING
            move.memory_total_mb, move.memory_remaining_mb = total_mb, remaining_mb
            move.updated_at = self._now

        self._database.run_in_writer(write)

    def abort(self, context: RequestContext, instance_uuid: str, migration_uuid: str) -> None:
        """Ask for the end of a live migration; its order is answered with what came of that.

        Raises MigrationNotFound; InstanceInvalidState when it cannot be ended any more.
        """
        agent, host, sequence = self._database.run_in_writer(
            lambda session: self._to_abort(session, instance_uuid, migration_uuid)
        )
        self._compute.abort_order(
            context.for_instance(instance_uuid), agent, instance_uuid, host, sequence
        )

    def _to_abort(
        self, session: Session, instance_uuid: str, migration_uuid: str
    ) -> tuple[str, str, int]:
        instance = instances.lock(session, instance_uuid)
        row = operations.lock(session, instance_uuid)
        if instance is None or migrations.find(session, migration_uuid) is None:
            raise exception.MigrationNotFound(migration=migration_uuid)
        stage = None if row is None else self._stage_of(row)
        if (
            row is None
            or row.migration_uuid != migration_uuid
            or not isinstance(stage, AgentStage)
            or not stage.is_abortable
        ):
            raise exception.InstanceInvalidState(
                instance_uuid=instance_uuid,
                operation="abort its migration",
                reason="it is not being copied to another host now",
            )
        host = str(orders.host_of(instance, row, stage))
        service = services.find_by_hosts(session, {host}).get(host)
        rows = self._rows(session, instance, row)
        if not rows.facts.get("is_aborted"):
            telling.abort(session, instance, "start")
        rows.note(is_aborted=True)
        return str(service and service.agent), host, row.sequence

    # Of a task

    def _stage(self, row: models.InstanceOperation) -> str:
        stage = self._stage_of(row)
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

    def _stage_of(self, row: models.InstanceOperation) -> Stage:
        return self._flows[row.operation].stages[row.stage]

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
        flow.begin(self._rows(session, instance, row), arguments)
        self._check_host(session, flow, instance, row)
        leases = self._enter(self._rows(session, instance, row), flow.first)
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
            stage = self._stage_of(row)
            if not isinstance(stage, SuperStage):
                return []
            rows = self._rows(session, instance, row)
            rows.note(**facts)
            return self._enter(rows, stage.failed if is_failed else stage.then)

        return self._database.run_in_writer(write)

    def _rows(
        self, session: Session, instance: models.Instance, row: models.InstanceOperation
    ) -> Rows:
        migration = migrations.find(session, row.migration_uuid) if row.migration_uuid else None
        return Rows(session, self._now, instance, row, migration)

    # From stage to stage, in a transaction

    def _enter(self, rows: Rows, name: str) -> list[Lease]:
        """Store the next stage; return the lease under which it is to be acted on."""
        flow, row = self._flows[rows.operation.operation], rows.operation
        if name in (DONE, UNDONE):
            self._finish(rows, flow, is_done=name == DONE)
            return []
        row.stage = name
        row.tries = 0
        stage = flow.stages[name]
        stage.begun(rows)
        rows.instance.updated_at = self._now
        if isinstance(stage, SuperStage):
            row.lease_owner, row.lease_expires_at = None, FOREVER
            return []
        if isinstance(stage, AgentStage):
            self._number_order(rows)
            self._note_event(rows, stage, result=None)
        return [self._hold_anew(row)]

    def _number_order(self, rows: Rows) -> None:
        rows.instance.orders_total += 1
        rows.operation.sequence = rows.instance.orders_total

    def _take_answer(
        self,
        session: Session,
        instance: models.Instance,
        row: models.InstanceOperation,
        stage: AgentStage,
        answer: Mapping[str, Any],
        fault: InstanceFault | None,
    ) -> list[Lease]:
        rows = self._rows(session, instance, row)
        if stage.is_abortable and rows.facts.get("is_aborted"):
            telling.abort(session, instance, "error" if fault is None else "end")
        if fault is not None:
            if stage.failed != row.stage:
                return self._take_failure(rows, stage, fault, stage.failed)
            if stage.given_up is not None and row.tries + 1 >= TRIES_MAX:
                return self._take_failure(rows, stage, fault, stage.given_up)
            return self._try_again(rows, stage, fault)
        self._note_event(rows, stage, result=actions.SUCCESS)
        stage.done(rows, answer)
        is_away = stage.away is not None and orders.cell_at(row, stage.at) is not None
        return self._enter(rows, stage.away if stage.away and is_away else stage.then)

    def _try_again(self, rows: Rows, stage: AgentStage, fault: InstanceFault) -> list[Lease]:
        """Put an order off under a number of its own: the same one would be answered the same."""
        if rows.operation.tries == 0:
            details = fault.details or fault.message
            self._note_event(rows, stage, result=actions.ERROR, details=details)
        self._number_order(rows)
        self._put_off(rows.operation)
        return []

    def _take_failure(
        self, rows: Rows, stage: AgentStage, fault: InstanceFault, following: str
    ) -> list[Lease]:
        if following == rows.operation.stage:  # its host is waited for
            self._put_off(rows.operation)
            return []
        details = fault.details or fault.message
        self._note_event(rows, stage, result=actions.ERROR, details=details)
        rows.note(fault=fault.obj_to_primitive())
        return self._enter(rows, following)

    def _put_off(self, row: models.InstanceOperation) -> None:
        row.lease_owner = None
        row.lease_expires_at = self._now_seconds() + self._pause_seconds(row.tries)
        row.tries += 1

    def _finish(self, rows: Rows, flow: Flow, *, is_done: bool) -> None:
        instance, row = rows.instance, rows.operation
        message = None
        instance.task_state = None
        instance.updated_at = self._now
        if is_done:
            flow.end(rows)
        else:
            flow.undo(rows)
            message = actions.FAILED
        if not is_done or instance.vm_state == "error":
            self._record_fault(rows)
        rows.touch_host()
        actions.finish(rows.session, instance.uuid, flow.operation, message=message, now=self._now)
        rows.session.delete(row)
        LOG.info(
            "%s: %s is %s, on %s it is %s now",
            instance.uuid, flow.operation, "done" if is_done else "undone",
            instance.host, instance.vm_state,
        )  # fmt: skip

    def _record_fault(self, rows: Rows) -> None:
        primitive = rows.facts.get("fault")
        if primitive is None:
            return
        fault: InstanceFault = InstanceFault.obj_from_primitive(primitive)
        mine = fault.with_values(
            instance_uuid=rows.instance.uuid, attempt=-rows.operation.number, host=fault.host
        )
        faults.record(rows.session, mine, now=self._now)

    def _note_event(
        self, rows: Rows, stage: AgentStage, *, result: str | None, details: str | None = None
    ) -> None:
        where: dict[str, Any] = {
            "host": orders.host_of(rows.instance, rows.operation, stage),
            "attempt": rows.operation.sequence,
            "now": self._now,
        }
        name = f"compute_{stage.verb}"
        key = (rows.operation.operation, stage.verb.value, stage.at.value)
        telling.step(rows.session, rows.instance, key, _PHASES[result])
        if result is None:
            actions.start_event(
                rows.session, rows.instance.uuid, rows.operation.operation, name, **where
            )
        else:
            actions.finish_event(
                rows.session, rows.instance.uuid, rows.operation.operation, name,
                result=result, details=details, **where,
            )  # fmt: skip

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
            rows = self._rows(session, instance, row)
            leases += self._take_failure(rows, stage, fault, stage.down or row.stage)
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
                rows = self._rows(session, instance, row)
                host = str(hosts[work.uuid])
                service = services.find_by_hosts(session, {host}).get(host)
                fault = self._why_not_told(work.uuid, host, service)
                is_left = stage.at is Side.DESTINATION or not self._is_host_up(service)
                following = stage.down if is_left else None  # who is only too old is waited for
                leases += self._take_failure(rows, stage, fault, following or row.stage)
            return leases

        return self._database.run_in_writer(write)

    def _act(self, context: RequestContext, works: list[Work]) -> list[Lease]:
        leases: list[Lease] = []
        for work in works:
            stage = self._stage_of(work.row)
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
                rows = self._rows(session, instance, row)
                stage.done(rows, following)
                leases += self._enter(rows, following)
            return leases

        leases = self._database.run_in_writer(write)
        if not leases:
            self._on_rest(work.uuid)
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
        stage = self._stage_of(work.row)
        assert isinstance(stage, AgentStage)
        return stage


def _unreached(instance_uuid: str, host: str, details: str) -> InstanceFault:
    return InstanceFault.from_values(
        instance_uuid=instance_uuid,
        host=host,
        message="The host cannot be reached.",
        details=details,
    )
