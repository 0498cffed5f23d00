"""Answers of hosts to commands: accepted if expected, here or in another cell; else stale."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.db import Database
from armillary.logs.line_budget import BoundedLog
from compute_agent.interface import ComputeAPI
from conductor.cell_conductor.operations import commands
from conductor.cell_conductor.operations.flow import AgentStage
from conductor.cell_conductor.operations.other_cells import OtherCells
from conductor.cell_conductor.operations.transitions import Transitions
from conductor.common.cell_db import (
    copies,
    instances,
    migrations,
    models,
    notify,
    operations,
    services,
)
from conductor.common.cell_db.flow_states import LiveMove
from conductor.common.clock import Clock, moment
from conductor.common.leases import Lease
from objects.instances.instance_command import CommandAnswer, CommandId
from objects.instances.instance_fault import InstanceFault
from objects.instances.migration import MigrationStatus

LOG = logging.getLogger(__name__)
_STALE = BoundedLog(LOG)
"""For stale answers, which cost an agent nothing."""

ACCEPTED = "accepted"
STALE = "stale"


class Answers:
    """Endpoint, see ``CellConductorAPI``: accepts agents' answers, and progress of live migrations.

    ``on_idle`` is called with the instance's UUID when an operation ends or waits. Callers run the
    leases that the methods return.
    """

    def __init__(
        self,
        *,
        database: Database,
        transitions: Transitions,
        others: OtherCells,
        compute: ComputeAPI,
        now: Clock,
        on_idle: Callable[[str], None],
    ) -> None:
        self._database = database
        self._transitions = transitions
        self._others = others
        self._compute = compute
        self._now = now
        self._on_idle = on_idle

    def answered(
        self, agent: str, command: CommandId, *, answer: CommandAnswer, fault: InstanceFault | None
    ) -> tuple[str, list[Lease]]:
        """Take an agent's answer.

        An answer to another cell's command is passed on to it. Raises what ``OtherCells`` raises.
        """

        def write(session: Session) -> tuple[str, list[Lease]]:
            found = self._find_expected(session, command, agent=agent)
            if found is None:
                return copies.move_of(
                    session, command.instance_uuid, agent, command.host
                ) or STALE, []
            return ACCEPTED, self._transitions.take_answer(session, *found, answer, fault)

        found, leases = self._database.run_in_writer(write)
        if found not in (ACCEPTED, STALE):  # the UUID of the other cell's migration
            try:
                found = self._others.answer(
                    admin_context(), found, command, answer=answer, fault=fault
                )
            except exception.Conflict:
                found = STALE  # the move has ended, or its instance is being deleted
        self._log_answer(found, leases, command, fault)
        return found, leases

    def answered_in_other_cell(
        self,
        migration_uuid: str,
        command: CommandId,
        *,
        answer: CommandAnswer,
        fault: InstanceFault | None,
    ) -> tuple[str, list[Lease]]:
        """Take an answer from another cell's agent."""

        def write(session: Session) -> tuple[str, list[Lease]]:
            found = self._find_expected(session, command, migration_uuid=migration_uuid)
            if found is None:
                return STALE, []
            return ACCEPTED, self._transitions.take_answer(session, *found, answer, fault)

        found, leases = self._database.run_in_writer(write)
        self._log_answer(found, leases, command, fault)
        return found, leases

    def _log_answer(
        self, found: str, leases: Sequence[Lease], command: CommandId, fault: InstanceFault | None
    ) -> None:
        if found == ACCEPTED and not leases:
            self._on_idle(command.instance_uuid)
        log: Callable[..., None] = LOG.log if found == ACCEPTED else _STALE.write
        log(
            logging.INFO, "%s: answer to command %d on %s (%s): %s",
            command.instance_uuid, command.sequence, command.host,
            "done" if fault is None else fault.message, found,
        )  # fmt: skip

    def is_command_wanted(self, context: RequestContext, agent: str, command: CommandId) -> bool:
        """Return whether the answer to a command is expected, here or in another cell."""

        def look(session: Session) -> str:
            if self._find_expected(session, command, agent=agent) is not None:
                return ACCEPTED
            return copies.move_of(session, command.instance_uuid, agent, command.host) or STALE

        found = self._database.run_in_writer(look)
        if found in (ACCEPTED, STALE):
            return found == ACCEPTED
        try:
            return self._others.is_expected(admin_context(), found, command)
        except exception.Conflict:
            return False

    def is_other_cell_command_wanted(
        self, context: RequestContext, migration_uuid: str, command: CommandId
    ) -> bool:
        """Return whether an answer from another cell's agent is expected."""

        def look(session: Session) -> bool:
            found = self._find_expected(session, command, migration_uuid=migration_uuid)
            return found is not None

        return self._database.run_in_writer(look)

    def _find_expected(
        self,
        session: Session,
        command: CommandId,
        *,
        agent: str | None = None,
        migration_uuid: str | None = None,
    ) -> tuple[models.Instance, models.InstanceOperation, AgentStage] | None:
        """Lock the rows that a command is about; None unless its answer is expected.

        It comes from this cell's ``agent``, or in a ``migration_uuid`` from a host of another cell,
        which checks its own agents.
        """
        instance = instances.lock(session, command.instance_uuid)
        row = operations.lock(session, command.instance_uuid)
        if instance is None or row is None or row.sequence != command.sequence:
            return None
        stage = self._transitions.stage_of(row)
        host = command.host
        if not isinstance(stage, AgentStage) or commands.host_of(instance, row, stage) != host:
            return None
        is_here = commands.cell_at(row, stage.at) is None
        if agent is not None:
            is_theirs = is_here and services.belongs_to_agent(session, host, agent)
        else:
            is_theirs = not is_here and row.migration_uuid == migration_uuid
        return (instance, row, stage) if is_theirs else None

    def migration_progress(
        self,
        context: RequestContext,
        agent: str,
        command: CommandId,
        *,
        total_mb: int,
        remaining_mb: int,
    ) -> None:
        """Store the progress of a live migration if it is the running one."""

        def write(session: Session) -> None:
            found = self._find_expected(session, command, agent=agent)
            if found is None or found[1].migration_uuid is None:
                return
            move = migrations.find(session, found[1].migration_uuid)
            if move is None:
                return
            if move.status == MigrationStatus.QUEUED:
                move.status = MigrationStatus.RUNNING
            move.memory_total_mb, move.memory_remaining_mb = total_mb, remaining_mb
            move.updated_at = moment(self._now())

        self._database.run_in_writer(write)

    def abort_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        """Abort a live migration; the answer to its command says how that ended.

        Raises MigrationNotFound; InstanceInvalidState if it can no longer be aborted.
        """
        agent, host, sequence = self._database.run_in_writer(
            self._to_signal, instance_uuid, migration_uuid, "abort its migration", is_aborted=True
        )
        self._compute.abort_command(
            context.for_instance(instance_uuid), agent, instance_uuid, host, sequence
        )

    def force_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        """Complete a live migration immediately.

        Raises MigrationNotFound; InstanceInvalidState if it is not being copied.
        """
        operation = "force its migration to complete"
        agent, host, sequence = self._database.run_in_writer(
            self._to_signal, instance_uuid, migration_uuid, operation, is_forced=True
        )
        self._compute.force_command(
            context.for_instance(instance_uuid), agent, instance_uuid, host, sequence
        )

    def _to_signal(
        self,
        session: Session,
        instance_uuid: str,
        migration_uuid: str,
        operation: str,
        *,
        is_aborted: bool = False,
        is_forced: bool = False,
    ) -> tuple[str, str, int]:
        """Store a signal to a live migration; return agent, host and number of its command."""
        instance, row, stage = self._copying(session, instance_uuid, migration_uuid, operation)
        state = LiveMove.of(row)
        if is_aborted and not state.is_aborted:
            notify.abort(session, instance, "start")
        dataclasses.replace(
            state, is_aborted=state.is_aborted or is_aborted, is_forced=state.is_forced or is_forced
        ).store(row)
        return *self._agent_of(session, instance, row, stage), row.sequence

    def _agent_of(
        self,
        session: Session,
        instance: models.Instance,
        row: models.InstanceOperation,
        stage: AgentStage,
    ) -> tuple[str, str]:
        """Return the agent and the host that a stage is executed on."""
        host = str(commands.host_of(instance, row, stage))
        service = services.find_by_hosts(session, {host}).get(host)
        return str(service and service.agent), host

    def _copying(
        self, session: Session, instance_uuid: str, migration_uuid: str, operation: str
    ) -> tuple[models.Instance, models.InstanceOperation, AgentStage]:
        """Lock and return an instance whose live migration is being copied, and its stage."""
        instance = instances.lock(session, instance_uuid)
        row = operations.lock(session, instance_uuid)
        if instance is None or migrations.find(session, migration_uuid) is None:
            raise exception.MigrationNotFound(migration=migration_uuid)
        stage = None if row is None else self._transitions.stage_of(row)
        if (
            row is None
            or row.migration_uuid != migration_uuid
            or not isinstance(stage, AgentStage)
            or not stage.is_abortable
        ):
            raise exception.InstanceInvalidState(
                instance_uuid=instance_uuid,
                operation=operation,
                reason="it is not being copied to another host",
            )
        return instance, row, stage
