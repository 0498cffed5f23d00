"""What hosts answer to the orders of operations: taken if it is waited for, here or elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.db import Database
from compute_agent.rpcapi import ComputeAPI
from conductor.cell_db import copies, instances, migrations, models, operations, services, telling
from conductor.cell_tasks.operations import orders
from conductor.cell_tasks.operations.flow import AgentStage
from conductor.cell_tasks.operations.other_cells import OtherCells
from conductor.cell_tasks.operations.passage import Passage
from conductor.leases import Lease
from conductor.moments import Now, moment
from objects.instance_fault import InstanceFault
from objects.migration import MigrationStatus

LOG = logging.getLogger(__name__)

ACCEPTED = "accepted"
STALE = "stale"


class Answers:
    """Taker of answers, and of the progress of what takes long.

    ``on_rest`` is told (instance UUID) when an operation is over, or waits. The leases that its
    methods return are for the caller to run.
    """

    def __init__(
        self,
        *,
        database: Database,
        passage: Passage,
        others: OtherCells,
        compute: ComputeAPI,
        now: Now,
        on_rest: Callable[[str], None],
    ) -> None:
        self._database = database
        self._passage = passage
        self._others = others
        self._compute = compute
        self._now = now
        self._on_rest = on_rest

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

        That to an order of another cell goes there. Raises what ``OtherCells`` does.
        """

        def judge(session: Session) -> tuple[str, list[Lease]]:
            found = self._find_ordered(session, agent, host, instance_uuid, sequence)
            if found is None:
                return self._judge_stranger(session, agent, host, instance_uuid), []
            return ACCEPTED, self._passage.take_answer(session, *found, answer, fault)

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
        """Take the answer of another cell's agent."""

        def judge(session: Session) -> tuple[str, list[Lease]]:
            found = self._find_told_elsewhere(
                session, host, instance_uuid, migration_uuid, sequence
            )
            if found is None:
                return STALE, []
            return ACCEPTED, self._passage.take_answer(session, *found, answer, fault)

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
        stage = self._passage.stage_of(row)
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
            move.updated_at = moment(self._now())

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
        stage = None if row is None else self._passage.stage_of(row)
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
        rows = self._passage.rows(session, instance, row)
        if not rows.facts.get("is_aborted"):
            telling.abort(session, instance, "start")
        rows.note(is_aborted=True)
        return str(service and service.agent), host, row.sequence
