"""State machine of operations: stage transitions, each in one transaction with its rows locked.

Nothing here does I/O other than the database: the operation's stage says what to do next.
"""

import dataclasses
import logging
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy.orm import Session

from conductor.cell_conductor.operations import commands
from conductor.cell_conductor.operations.flow import (
    DONE,
    TRIES_MAX,
    UNDONE,
    AgentStage,
    Flow,
    Stage,
    SuperStage,
)
from conductor.cell_conductor.operations.rows import Rows
from conductor.common.cell_db import actions, faults, migrations, models, notify
from conductor.common.cell_db.flow_states import FlowState, LiveMove
from conductor.common.cell_db.stored_object import StoredObject
from conductor.common.clock import Clock, moment
from conductor.common.leases import Lease
from objects.instances.instance_command import CommandAnswer
from objects.instances.instance_fault import GUEST_LOST, NUMBER_USED, InstanceFault

LOG = logging.getLogger(__name__)

NUMBERS_SKIPPED_MAX = 1_000_000
"""Maximum number of commands to an instance since a backup; a host cannot use the numbers up."""

_KEPT = ("operation", "stage", "flow_state", "context", "migration_uuid")
"""What is kept of an operation that is interrupted."""
_PHASES = {None: "start", actions.SUCCESS: "end", actions.ERROR: "error"}
"""Result of a host's step -> phase in notifications."""


def record_failure(row: models.InstanceOperation, fault: InstanceFault) -> None:
    """Store why a stage failed; an operation that is undone ends with the last such fault."""
    dataclasses.replace(FlowState.of(row), fault=StoredObject.of(fault)).store(row)


def _unexplained(rows: Rows) -> InstanceFault:
    """Return the fault of an operation that ends in ERROR without a reason from a stage."""
    row = rows.operation
    return InstanceFault.from_values(
        instance_uuid=rows.instance.uuid,
        host=rows.instance.host,
        message=f"The {row.operation.replace('_', ' ')} failed.",
        details=f"it ended at its step {row.stage}; no host reported a reason",
    )


class Transitions:
    """Moves operations through the stages of their flows.

    ``hold`` gives a locked row a new lease and returns it. ``backoff_seconds`` maps the number of
    tries to the seconds to wait. The super conductor is asked about waiting operations after
    ``ask_seconds``.
    """

    def __init__(
        self,
        flows: Mapping[str, Flow],
        *,
        now: Clock,
        hold: Callable[[models.InstanceOperation], Lease],
        backoff_seconds: Callable[[int], float],
        ask_seconds: float,
    ) -> None:
        self._flows = flows
        self._now_seconds = now
        self._hold = hold
        self._backoff_seconds = backoff_seconds
        self._ask_seconds = ask_seconds

    def stage_of(self, row: models.InstanceOperation) -> Stage:
        return self._flows[row.operation].stages[row.stage]

    def rows(
        self, session: Session, instance: models.Instance, row: models.InstanceOperation
    ) -> Rows:
        """Return the locked rows of an operation, with its migration if it has one."""
        migration = migrations.find(session, row.migration_uuid) if row.migration_uuid else None
        return Rows(session, moment(self._now_seconds()), instance, row, migration)

    def enter(self, rows: Rows, name: str) -> list[Lease]:
        """Store the next stage; return the lease to run it under."""
        flow, row = self._flows[rows.operation.operation], rows.operation
        if name in (DONE, UNDONE):
            self._finish(rows, flow, is_done=name == DONE)
            return []
        row.stage = name
        row.tries = 0
        stage = flow.stages[name]
        stage.on_enter(rows)
        rows.instance.updated_at = rows.now
        if isinstance(stage, SuperStage):
            row.lease_owner = None
            row.lease_expires_at = self._now_seconds() + self._ask_seconds
            return []
        if isinstance(stage, AgentStage):
            self._number_command(rows)
            self._note_event(rows, stage, result=None)
        return [self._hold(row)]

    def _number_command(self, rows: Rows) -> None:
        rows.instance.commands_total += 1
        rows.operation.sequence = rows.instance.commands_total

    def take_answer(
        self,
        session: Session,
        instance: models.Instance,
        row: models.InstanceOperation,
        stage: AgentStage,
        answer: CommandAnswer,
        fault: InstanceFault | None,
    ) -> list[Lease]:
        """Store the transition that an answer leads to; return the lease to run it under."""
        rows = self.rows(session, instance, row)
        if stage.is_abortable and LiveMove.of(row).is_aborted:
            notify.abort(session, instance, "error" if fault is None else "end")
        if fault is not None and fault.code == NUMBER_USED:
            return self._renumber(rows, answer.last_number or 0)
        if fault is not None:
            if stage.undo is not None:
                return self.take_failure(rows, stage, fault, stage.undo)
            is_hopeless = fault.code == GUEST_LOST or row.tries + 1 >= TRIES_MAX
            if stage.given_up is not None and is_hopeless:
                return self.take_failure(rows, stage, fault, stage.given_up)
            return self._retry(rows, stage, fault)
        self._note_event(rows, stage, result=actions.SUCCESS)
        stage.done(rows, answer)
        is_away = stage.away is not None and commands.cell_at(row, stage.at) is not None
        return self.enter(rows, stage.away if stage.away and is_away else stage.then)

    def _renumber(self, rows: Rows, last: int) -> list[Lease]:
        """Send a command again under a number that is new to its host.

        The host knows later commands than this cell: its database was restored from a backup.
        """
        instance = rows.instance
        last = min(last, instance.commands_total + NUMBERS_SKIPPED_MAX)
        LOG.warning(
            "%s: the host has seen command %d, the cell is at %d; using higher numbers",
            instance.uuid, last, instance.commands_total,
        )  # fmt: skip
        instance.commands_total = max(instance.commands_total, last)
        self._number_command(rows)
        self._put_off(rows.operation)
        return []

    def _retry(self, rows: Rows, stage: AgentStage, fault: InstanceFault) -> list[Lease]:
        """Retry a command later under a new number: agents answer the same number the same way."""
        if rows.operation.tries == 0:
            details = fault.details or fault.message
            self._note_event(rows, stage, result=actions.ERROR, details=details)
        self._number_command(rows)
        self._put_off(rows.operation)
        return []

    def take_failure(
        self, rows: Rows, stage: AgentStage, fault: InstanceFault, following: str | None
    ) -> list[Lease]:
        """Store the transition after a host failed or could not be reached; None: wait for it."""
        if following is None:
            self._put_off(rows.operation)
            return []
        details = fault.details or fault.message
        self._note_event(rows, stage, result=actions.ERROR, details=details)
        record_failure(rows.operation, fault)
        return self.enter(rows, following)

    def replace(self, rows: Rows, by: Flow) -> dict[str, Any] | None:
        """End an operation that another one takes the place of.

        It has failed, unless it is only interrupted: then return what ``_continue`` needs.
        """
        row, stage = rows.operation, self.stage_of(rows.operation)
        reason = f"{'interrupted' if by.only_interrupts else 'replaced'} by a new {by.operation}"
        if isinstance(stage, AgentStage):
            self._note_event(rows, stage, result=actions.ERROR, details=reason)
        if not by.only_interrupts:
            self._end_action(rows, row.operation, actions.FAILED)
        rows.session.delete(row)
        rows.session.flush()  # its successor's row has the same key
        rows.instance.task_state = None
        return {name: getattr(row, name) for name in _KEPT} if by.only_interrupts else None

    def _continue(self, rows: Rows, interrupted: Mapping[str, Any]) -> None:
        """Begin an interrupted operation again, soon; its action has not ended."""
        instance = rows.instance
        instance.operations_total += 1
        row = models.InstanceOperation(
            **interrupted,
            instance_uuid=instance.uuid,
            sequence=0,
            number=instance.operations_total,
            tries=0,
            created_at=rows.now,
            lease_owner=None,
            lease_expires_at=0.0,
        )
        rows.session.add(row)
        instance.task_state = self._flows[row.operation].task_state
        self._number_command(dataclasses.replace(rows, operation=row))

    def _end_action(self, rows: Rows, operation: str, message: str | None) -> None:
        uuid = rows.instance.uuid
        actions.finish(rows.session, uuid, operation, message=message, now=rows.now)

    def _put_off(self, row: models.InstanceOperation) -> None:
        row.lease_owner = None
        row.lease_expires_at = self._now_seconds() + self._backoff_seconds(row.tries)
        row.tries += 1

    def _finish(self, rows: Rows, flow: Flow, *, is_done: bool) -> None:
        instance, row = rows.instance, rows.operation
        message = None
        instance.task_state = None
        instance.updated_at = rows.now
        if is_done:
            flow.end(rows)
        else:
            flow.undo(rows)
            message = actions.FAILED
        if not is_done or instance.vm_state == "error":
            self._record_fault(rows)
        rows.touch_host()
        self._end_action(rows, flow.operation, message)
        rows.session.delete(row)
        interrupted = FlowState.of(row).interrupted
        if interrupted is not None and is_done:
            self._end_action(rows, interrupted["operation"], None)
        elif interrupted is not None:
            rows.session.flush()  # the rows have the same key
            self._continue(rows, interrupted)
        LOG.info(
            "%s: %s is %s; host %s, state %s",
            instance.uuid, flow.operation, "done" if is_done else "undone",
            instance.host, instance.vm_state,
        )  # fmt: skip

    def _record_fault(self, rows: Rows) -> None:
        state = FlowState.of(rows.operation)
        fault = state.last_fault
        if fault is None and (rows.instance.vm_state != "error" or state.was == "error"):
            return
        fault = fault or _unexplained(rows)
        uuid, attempt = rows.instance.uuid, -rows.operation.number
        stored = fault.with_values(instance_uuid=uuid, attempt=attempt, host=fault.host)
        faults.record(rows.session, stored, now=rows.now)

    def _note_event(
        self, rows: Rows, stage: AgentStage, *, result: str | None, details: str | None = None
    ) -> None:
        operation, instance = rows.operation, rows.instance
        host = commands.host_of(instance, operation, stage)
        name = f"compute_{stage.verb}"
        key = (operation.operation, stage.verb.value, stage.at.value)
        notify.step(rows.session, instance, key, _PHASES[result])
        if result is None:
            actions.start_event(
                rows.session, instance.uuid, operation.operation, name,
                host=host, attempt=operation.sequence, now=rows.now,
            )  # fmt: skip
        else:
            actions.finish_event(
                rows.session, instance.uuid, operation.operation, name,
                host=host, attempt=operation.sequence, result=result, details=details, now=rows.now,
            )  # fmt: skip
