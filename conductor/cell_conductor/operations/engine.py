"""Operations task: run each instance's flow from stage to stage, across conductor failures.

A stage is stored before it is acted on. An unanswered command is sent again when the lease expires;
agents answer a repeated command the same way. ``requests`` stores operations, ``answers`` handles
what agents report.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from compute_agent.interface import ComputeAPI
from conductor.cell_conductor import base_task
from conductor.cell_conductor.operations import commands, other_cells
from conductor.cell_conductor.operations.answers import Answers
from conductor.cell_conductor.operations.fencing import Fencing
from conductor.cell_conductor.operations.flow import (
    AgentStage,
    Flow,
    OwnStage,
    OwnWork,
    Side,
    Stage,
    SuperStage,
)
from conductor.cell_conductor.operations.flows import FLOWS
from conductor.cell_conductor.operations.other_cells import OtherCells
from conductor.cell_conductor.operations.requests import Requests
from conductor.cell_conductor.operations.rows import Rows
from conductor.cell_conductor.operations.snapshots import Snapshots
from conductor.cell_conductor.operations.transitions import Transitions, record_failure
from conductor.common.cell_db import actions, copies, models, operations, services
from conductor.common.cell_db.flow_states import Move
from conductor.common.leased_work import Release, Step
from conductor.common.leases import Lease
from conductor.super_conductor.interface import SuperConductorAPI
from objects.instances.instance_command import InstanceCommand
from objects.instances.instance_fault import InstanceFault
from objects.instances.server_record import ServerRecord
from placement.interface import PlacementAPI

LOG = logging.getLogger(__name__)

WorkItem = base_task.WorkItem[models.InstanceOperation]
Batch = base_task.Batch[models.InstanceOperation]

WAIT_EVENT = "conductor_wait_for_cell"
GIVEN_UP = "is forced down, or its service deleted"


class Operations(base_task.Task[models.InstanceOperation]):
    """Operations on this cell's instances, from the request to the end.

    ``on_idle`` is called with the instance's UUID when an operation ends or waits.
    """

    def __init__(
        self,
        env: base_task.Environment,
        *,
        placement: PlacementAPI,
        compute: ComputeAPI,
        top: SuperConductorAPI,
        flows: Mapping[str, Flow] = FLOWS,
        on_idle: Callable[[str], None] = lambda instance_uuid: None,
    ) -> None:
        super().__init__(env, operations.ROWS)
        self._top = top
        self._others = OtherCells(env.conf, env.database, top)
        self._snapshots = Snapshots(str(env.conf.cell.uuid), top)
        self._fencing = Fencing(env.conf, env.database, env.now)
        self._placement = placement
        self._compute = compute
        self._steps = {
            step_name(flow.operation, name): Step(
                step_name(flow.operation, name), self._step(stage)
            )
            for flow in flows.values()
            for name, stage in flow.stages.items()
        }
        self._on_idle = on_idle
        self._transitions = Transitions(
            flows, now=env.now, hold=self._take_lease, backoff_seconds=self._backoff_seconds,
            ask_seconds=env.conf.conductor.lease_seconds,
        )  # fmt: skip
        self.requests = Requests(
            env.conf, env.database, self._transitions,
            flows=flows, now=env.now, is_host_up=self._is_host_up,
        )  # fmt: skip
        self.answers = Answers(
            database=env.database, transitions=self._transitions, others=self._others,
            compute=compute, now=env.now, on_idle=on_idle,
        )  # fmt: skip

    @property
    def steps(self) -> Mapping[str, base_task.StageStep[models.InstanceOperation]]:
        return self._steps

    def _step(self, stage: Stage) -> Callable[[Batch], list[Lease]]:
        match stage:
            case AgentStage():
                return partial(self._command, stage)
            case OwnStage():
                return partial(self._act, stage)
            case SuperStage():
                return partial(self._check_pending, stage)

    def _stage(self, row: models.InstanceOperation) -> str:
        return step_name(row.operation, row.stage)

    # Steps

    def _command(self, stage: AgentStage, batch: Batch) -> list[Lease]:
        """Send commands to the agents; if a host is down, continue without it or wait for it."""
        leases: list[Lease] = []
        here = []
        for work in batch.works:
            to_cell_uuid = commands.cell_at(work.row, stage.at)
            if to_cell_uuid is None:
                here.append(work)
            else:
                leases += self._send_to_other_cell(batch.context, stage, work, to_cell_uuid)
        return leases + (self._send_here(batch.context, stage, here) if here else [])

    def _send_to_other_cell(
        self, context: RequestContext, stage: AgentStage, work: WorkItem, to_cell_uuid: str
    ) -> list[Lease]:
        """Send a command to a host of another cell; wait if that cell is silent or busy."""
        command = self._make_command(stage, work)
        try:
            reason = self._others.send_command(
                context.for_instance(work.uuid), work.row, command, to_cell_uuid=to_cell_uuid
            )
        except (*base_task.UNKNOWN_OUTCOME_ERRORS, exception.Conflict) as error:
            self._wait(work, error)
            return []
        if reason is None:
            return []
        fault = _unreached(work.row, command.host, reason)
        is_given_up = reason.endswith(GIVEN_UP)
        following = stage.without_host or (stage.given_up_host if is_given_up else None)

        def write(session: Session) -> list[Lease]:
            return [
                lease
                for rows in self._lock_rows(session, [work])
                for lease in self._transitions.take_failure(rows, stage, fault, following)
            ]

        return self._database.run_in_writer(write)

    def _lock_rows(self, session: Session, works: Sequence[WorkItem]) -> list[Rows]:
        """Lock the rows of these items; return those unchanged since they were read."""
        return [
            self._transitions.rows(session, instance, row)
            for _work, instance, row in self._lock_ours(session, works)
        ]

    def _wait(self, work: WorkItem, error: Exception) -> None:
        """Ask the other cell again later; record the reason in the server's actions."""
        LOG.warning("%s: %s is waiting: %s", work.uuid, work.row.operation, error)
        self._database.run_in_writer(
            actions.finish_event,
            work.uuid,
            work.row.operation,
            WAIT_EVENT,
            host=None,
            attempt=work.row.sequence,
            result=actions.ERROR,
            details=f"waiting at stage {work.row.stage}: {error}",
            now=self._now,
        )
        self._release_with_backoff([work])

    def _send_here(
        self, context: RequestContext, stage: AgentStage, works: Sequence[WorkItem]
    ) -> list[Lease]:
        hosts = {work.uuid: str(commands.host_of(work.instance, work.row, stage)) for work in works}
        found = self._database.read(services.find_by_hosts, set(hosts.values()))
        lost = []
        for work in works:
            service = found.get(hosts[work.uuid])
            if service is not None and self._is_host_up(service):
                command = self._make_command(stage, work)
                self._send(context, str(service.agent), command)
            else:
                lost.append(work)
        return self._fail_unreachable(stage, lost, hosts) if lost else []

    def _send(self, context: RequestContext, agent: str, command: InstanceCommand) -> None:
        uuid = command.instance.uuid
        LOG.info("%s: command %d, %s on %s", uuid, command.sequence, command.verb, command.host)
        self._compute.execute(context.for_instance(uuid), agent, command)

    def _make_command(self, stage: AgentStage, work: WorkItem) -> InstanceCommand:
        return commands.make(work.instance, work.row, stage, cell_uuid=self._conf.cell.uuid)

    def execute_for_other_cell(
        self, context: RequestContext, record: ServerRecord, command: InstanceCommand
    ) -> str | None:
        """Send a command of the cell that has the instance to one of this cell's hosts.

        Returns why it cannot be sent. Raises Conflict if the move is not known here, or is over.
        """
        host = command.host
        self._database.run_in_writer(copies.keep, record, now=self._now)
        with self._database.reader() as session:
            service = services.find_by_hosts(session, {host}).get(host)
        if service is None or self._is_given_up(service):
            return f"host {host} {GIVEN_UP}"
        if not self._is_host_up(service):
            return f"host {host} is down"
        self._send(context, str(service.agent), command)
        return None

    def _is_given_up(self, service: models.Service | None) -> bool:
        """Return whether no guest of the host runs, by an operator's word and for certain."""
        if service is None:
            return True
        return service.forced_down and self._fencing.seconds_left(service) <= 0

    def take_over_instance(self, context: RequestContext, record: ServerRecord) -> None:
        """Become the cell of another cell's instance. Raises Conflict if there is no copy of it."""
        self._database.run_in_writer(copies.take_over, record, now=self._now)
        self._on_idle(record.instance.uuid)

    def drop_copy(self, context: RequestContext, instance_uuid: str, migration_uuid: str) -> None:
        """Delete this cell's copy of an instance after a move between cells."""
        self._database.run_in_writer(copies.drop, instance_uuid, migration_uuid, now=self._now)

    def _fail_unreachable(
        self, stage: AgentStage, works: Sequence[WorkItem], hosts: Mapping[str, str]
    ) -> list[Lease]:
        def write(session: Session) -> list[Lease]:
            leases: list[Lease] = []
            for rows in self._lock_rows(session, works):
                host = hosts[rows.instance.uuid]
                service = services.find_by_hosts(session, {host}).get(host)
                fault = _unreached(rows.operation, host, f"host {host} is down")
                is_left = stage.at is Side.DESTINATION or not self._is_host_up(service)
                following = stage.without_host if is_left else None  # up again: send once more
                if self._is_given_up(service):
                    following = following or stage.given_up_host
                leases += self._transitions.take_failure(rows, stage, fault, following)
            return leases

        return self._database.run_in_writer(write)

    def _act(self, stage: OwnStage, batch: Batch) -> list[Lease]:
        leases: list[Lease] = []
        for work in batch.works:
            own = OwnWork(
                batch.context, work.instance, work.row, self._placement, self._others,
                self._snapshots, self._fencing,
            )  # fmt: skip
            try:
                following = stage.do(own)
            except exception.HostNotFencedYet as waiting:
                LOG.info("%s: %s is waiting: %s", work.uuid, work.row.operation, waiting)
                self.release([Release(work.lease, waiting.kwargs["seconds"])])
            except (exception.CellUnavailable, exception.Conflict) as error:
                if not Move.of(work.row).is_between_cells:
                    raise
                self._wait(work, error)
            else:
                leases += self._acted(work, stage, following)
        return leases

    def _acted(self, work: WorkItem, stage: OwnStage, following: str) -> list[Lease]:
        def write(session: Session) -> list[Lease]:
            leases: list[Lease] = []
            for rows in self._lock_rows(session, [work]):
                stage.done(rows, following)
                leases += self._transitions.enter(rows, following)
            return leases

        leases = self._database.run_in_writer(write)
        if not leases:
            self._on_idle(work.uuid)
        return leases

    def _check_pending(self, stage: SuperStage, batch: Batch) -> list[Lease]:
        """Keep waiting where the super conductor still looks for hosts; undo the rest.

        A request that this cell refused, and that was then withdrawn, may be delivered again and
        be accepted; no super conductor would continue it.
        """
        works = batch.works
        uuids = {str(work.row.migration_uuid) for work in works}
        known = other_cells.known_moves(self._top, batch.context, uuids)
        self._release_with_backoff([work for work in works if work.row.migration_uuid in known])
        lost = [work for work in works if work.row.migration_uuid not in known]
        if not lost:
            return []
        return self._database.run_in_writer(self._withdraw, stage, lost)

    def _withdraw(
        self, session: Session, stage: SuperStage, works: Sequence[WorkItem]
    ) -> list[Lease]:
        leases: list[Lease] = []
        for rows in self._lock_rows(session, works):
            uuid, row = rows.instance.uuid, rows.operation
            LOG.warning("%s: no super conductor knows its %s; undoing it", uuid, row.operation)
            fault = InstanceFault.from_values(
                instance_uuid=uuid,
                message=f"The {row.operation.replace('_', ' ')} was withdrawn.",
                details="no super conductor knows the move: it was refused, then delivered again",
            )
            record_failure(row, fault)
            leases += self._transitions.enter(rows, stage.undo)
        return leases


def step_name(operation: str, stage: str) -> str:
    """Return the name of the step that runs a stage of an operation."""
    return f"{operation} {stage}"


def _unreached(row: models.InstanceOperation, host: str, reason: str) -> InstanceFault:
    what = row.operation.replace("_", " ")
    return InstanceFault.from_values(
        instance_uuid=row.instance_uuid,
        host=host,
        message=f"The {what} failed: a host cannot be reached.",
        details=f"at its step {row.stage}: {reason}",
    )
