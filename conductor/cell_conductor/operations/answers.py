"""Answers of hosts to commands: accepted if expected, here or in another cell; else stale."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.db import Database
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
from objects.instance_fault import InstanceFault
from objects.instances.migration import MigrationStatus

LOG = logging.getLogger(__name__)

ACCEPTED = "accepted"
STALE = "stale"


class Answers:
    """Accepts agents' answers, and the progress of live migrations.

    ``on_idle`` is called with the instance's UUID when an operation ends or waits. Callers run the
    leases that the methods return.
    """

    def __init__(
        self,
        *,
        database: Database,
        passage: Transitions,
        others: OtherCells,
        compute: ComputeAPI,
        now: Clock,
        on_idle: Callable[[str], None],
    ) -> None:
        self._database = database
        self._transitions = passage
        self._others = others
        self._compute = compute
        self._now = now
        self._on_idle = on_idle

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
        """Take an agent's answer.

        An answer to another cell's command is passed on to it. Raises what ``OtherCells`` raises.
        """

        def judge(session: Session) -> tuple[str, list[Lease]]:
            found = self._find_commanded(session, agent, host, instance_uuid, sequence)
            if found is None:
                return self._find_other_cells_move(session, agent, host, instance_uuid), []
            return ACCEPTED, self._transitions.take_answer(session, *found, answer, fault)

        found, leases = self._database.run_in_writer(judge)
        if found not in (ACCEPTED, STALE):  # the UUID of the other cell's migration
            move = (host, instance_uuid, found, sequence)
            try:
                found = self._others.answer(admin_context(), *move, answer=answer, fault=fault)
            except exception.Conflict:
                found = STALE  # the move is over, or its instance is being deleted
        self._log_answer(found, leases, host, instance_uuid, sequence, fault)
        return found, leases

    def answered_in_other_cell(
        self,
        host: str,
        instance_uuid: str,
        migration_uuid: str,
        sequence: int,
        *,
        answer: Mapping[str, Any],
        fault: InstanceFault | None,
    ) -> tuple[str, list[Lease]]:
        """Take an answer from another cell's agent."""

        def judge(session: Session) -> tuple[str, list[Lease]]:
            found = self._find_told_elsewhere(
                session, host, instance_uuid, migration_uuid, sequence
            )
            if found is None:
                return STALE, []
            return ACCEPTED, self._transitions.take_answer(session, *found, answer, fault)

        found, leases = self._database.run_in_writer(judge)
        self._log_answer(found, leases, host, instance_uuid, sequence, fault)
        return found, leases

    def _log_answer(
        self,
        found: str,
        leases: Sequence[Lease],
        host: str,
        instance_uuid: str,
        sequence: int,
        fault: InstanceFault | None,
    ) -> None:
        if found == ACCEPTED and not leases:
            self._on_idle(instance_uuid)
        LOG.info(
            "%s: answer to command %d on %s (%s): %s",
            instance_uuid, sequence, host, "done" if fault is None else fault.message, found,
        )  # fmt: skip

    @staticmethod
    def _find_other_cells_move(session: Session, agent: str, host: str, instance_uuid: str) -> str:
        """Return the migration of another cell that the command may belong to, or STALE."""
        return copies.move_of(session, instance_uuid, agent, host) or STALE

    def is_expected(self, agent: str, host: str, instance_uuid: str, sequence: int) -> bool:
        """Return whether the answer to a command is expected, here or in another cell."""

        def look(session: Session) -> str:
            if self._find_commanded(session, agent, host, instance_uuid, sequence) is not None:
                return ACCEPTED
            return self._find_other_cells_move(session, agent, host, instance_uuid)

        found = self._database.run_in_writer(look)
        if found in (ACCEPTED, STALE):
            return found == ACCEPTED
        try:
            return self._others.is_expected(admin_context(), host, instance_uuid, found, sequence)
        except exception.Conflict:
            return False

    def is_expected_in_other_cell(
        self, host: str, instance_uuid: str, migration_uuid: str, sequence: int
    ) -> bool:
        """Return whether an answer from another cell's agent is expected."""
        return self._database.run_in_writer(
            lambda session: (
                self._find_told_elsewhere(session, host, instance_uuid, migration_uuid, sequence)
                is not None
            )
        )

    def _find_commanded(
        self, session: Session, agent: str, host: str, instance_uuid: str, sequence: int
    ) -> tuple[models.Instance, models.InstanceOperation, AgentStage] | None:
        """Lock the rows that a command is about; None unless its answer is expected."""
        found = self._find_waiting(session, host, instance_uuid, sequence)
        if found is None or commands.cell_at(found[1], found[2].at) is not None:
            return None
        return found if services.belongs_to_agent(session, host, agent) else None

    def _find_told_elsewhere(
        self, session: Session, host: str, instance_uuid: str, migration_uuid: str, sequence: int
    ) -> tuple[models.Instance, models.InstanceOperation, AgentStage] | None:
        """As :meth:`_find_commanded`, for a host of another cell, which checks its own agents."""
        found = self._find_waiting(session, host, instance_uuid, sequence)
        if found is None or found[1].migration_uuid != migration_uuid:
            return None
        return None if commands.cell_at(found[1], found[2].at) is None else found

    def _find_waiting(
        self, session: Session, host: str, instance_uuid: str, sequence: int
    ) -> tuple[models.Instance, models.InstanceOperation, AgentStage] | None:
        instance = instances.lock(session, instance_uuid)
        row = operations.lock(session, instance_uuid)
        if instance is None or row is None or row.sequence != sequence:
            return None
        stage = self._transitions.stage_of(row)
        if not isinstance(stage, AgentStage) or commands.host_of(instance, row, stage) != host:
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
        """Store the progress of a live migration if it is the running one."""

        def write(session: Session) -> None:
            row = operations.lock(session, instance_uuid)
            if row is None or row.sequence != sequence or row.migration_uuid is None:
                return
            move = migrations.find(session, row.migration_uuid)
            if move is None or not services.belongs_to_agent(session, host, agent):
                return
            if move.status == MigrationStatus.QUEUED:
                move.status = MigrationStatus.RUNNING
            move.memory_total_mb, move.memory_remaining_mb = total_mb, remaining_mb
            move.updated_at = moment(self._now())

        self._database.run_in_writer(write)

    def abort(self, context: RequestContext, instance_uuid: str, migration_uuid: str) -> None:
        """Abort a live migration; the answer to its command says how that ended.

        Raises MigrationNotFound; InstanceInvalidState if it can no longer be aborted.
        """
        agent, host, sequence = self._database.run_in_writer(
            lambda session: self._to_abort(session, instance_uuid, migration_uuid)
        )
        self._compute.abort_command(
            context.for_instance(instance_uuid), agent, instance_uuid, host, sequence
        )

    def _to_abort(
        self, session: Session, instance_uuid: str, migration_uuid: str
    ) -> tuple[str, str, int]:
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
                operation="abort its migration",
                reason="it is not being copied to another host",
            )
        host = str(commands.host_of(instance, row, stage))
        service = services.find_by_hosts(session, {host}).get(host)
        state = LiveMove.of(row)
        if not state.is_aborted:
            notify.abort(session, instance, "start")
        dataclasses.replace(state, is_aborted=True).store(row)
        return str(service and service.agent), host, row.sequence
