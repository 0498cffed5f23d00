"""From stage to stage: each change of an operation, inside one transaction, rows locked.

No function here talks to anybody: what has to be done next is the operation's stage.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy.orm import Session

from conductor.cell_db import actions, faults, migrations, models, telling
from conductor.cell_tasks.operations import orders
from conductor.cell_tasks.operations.flow import (
    DONE,
    TRIES_MAX,
    UNDONE,
    AgentStage,
    Flow,
    Stage,
    SuperStage,
)
from conductor.cell_tasks.operations.rows import Rows
from conductor.leases import Lease
from conductor.moments import Now, moment
from objects.instance_fault import InstanceFault

LOG = logging.getLogger(__name__)

_PHASES = {None: "start", actions.SUCCESS: "end", actions.ERROR: "error"}
"""How far a host is with an order -> how that is told."""


class Passage:
    """Takes operations through the stages of their flows.

    ``hold`` gives a locked row a new holder and returns its lease; ``pause_seconds`` says how long
    to wait after so many tries. What waits for the super conductor is to be asked for after
    ``ask_seconds``.
    """

    def __init__(
        self,
        flows: Mapping[str, Flow],
        *,
        now: Now,
        hold: Callable[[models.InstanceOperation], Lease],
        pause_seconds: Callable[[int], float],
        ask_seconds: float,
    ) -> None:
        self._flows = flows
        self._now_seconds = now
        self._hold = hold
        self._pause_seconds = pause_seconds
        self._ask_seconds = ask_seconds

    def stage_of(self, row: models.InstanceOperation) -> Stage:
        """Return the stage that an operation is at."""
        return self._flows[row.operation].stages[row.stage]

    def rows(
        self, session: Session, instance: models.Instance, row: models.InstanceOperation
    ) -> Rows:
        """Return the locked rows of an operation, with its migration if it has one."""
        migration = migrations.find(session, row.migration_uuid) if row.migration_uuid else None
        return Rows(session, moment(self._now_seconds()), instance, row, migration)

    def enter(self, rows: Rows, name: str) -> list[Lease]:
        """Store the next stage; return the lease under which it is to be acted on."""
        flow, row = self._flows[rows.operation.operation], rows.operation
        if name in (DONE, UNDONE):
            self._finish(rows, flow, is_done=name == DONE)
            return []
        row.stage = name
        row.tries = 0
        stage = flow.stages[name]
        stage.begun(rows)
        rows.instance.updated_at = rows.now
        if isinstance(stage, SuperStage):
            row.lease_owner = None
            row.lease_expires_at = self._now_seconds() + self._ask_seconds
            return []
        if isinstance(stage, AgentStage):
            self._number_order(rows)
            self._note_event(rows, stage, result=None)
        return [self._hold(row)]

    def _number_order(self, rows: Rows) -> None:
        rows.instance.orders_total += 1
        rows.operation.sequence = rows.instance.orders_total

    def take_answer(
        self,
        session: Session,
        instance: models.Instance,
        row: models.InstanceOperation,
        stage: AgentStage,
        answer: Mapping[str, Any],
        fault: InstanceFault | None,
    ) -> list[Lease]:
        """Store what an answer leads to; return the lease under which it is to be acted on."""
        rows = self.rows(session, instance, row)
        if stage.is_abortable and rows.facts.get("is_aborted"):
            telling.abort(session, instance, "error" if fault is None else "end")
        if fault is not None:
            if stage.failed != row.stage:
                return self.take_failure(rows, stage, fault, stage.failed)
            if stage.given_up is not None and row.tries + 1 >= TRIES_MAX:
                return self.take_failure(rows, stage, fault, stage.given_up)
            return self._try_again(rows, stage, fault)
        self._note_event(rows, stage, result=actions.SUCCESS)
        stage.done(rows, answer)
        is_away = stage.away is not None and orders.cell_at(row, stage.at) is not None
        return self.enter(rows, stage.away if stage.away and is_away else stage.then)

    def _try_again(self, rows: Rows, stage: AgentStage, fault: InstanceFault) -> list[Lease]:
        """Put an order off under a number of its own: the same one would be answered the same."""
        if rows.operation.tries == 0:
            details = fault.details or fault.message
            self._note_event(rows, stage, result=actions.ERROR, details=details)
        self._number_order(rows)
        self._put_off(rows.operation)
        return []

    def take_failure(
        self, rows: Rows, stage: AgentStage, fault: InstanceFault, following: str
    ) -> list[Lease]:
        """Store where it leads that a host could not, or was not reached."""
        if following == rows.operation.stage:  # its host is waited for
            self._put_off(rows.operation)
            return []
        details = fault.details or fault.message
        self._note_event(rows, stage, result=actions.ERROR, details=details)
        rows.note(fault=fault.obj_to_primitive())
        return self.enter(rows, following)

    def _put_off(self, row: models.InstanceOperation) -> None:
        row.lease_owner = None
        row.lease_expires_at = self._now_seconds() + self._pause_seconds(row.tries)
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
        actions.finish(rows.session, instance.uuid, flow.operation, message=message, now=rows.now)
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
        faults.record(rows.session, mine, now=rows.now)

    def _note_event(
        self, rows: Rows, stage: AgentStage, *, result: str | None, details: str | None = None
    ) -> None:
        where: dict[str, Any] = {
            "host": orders.host_of(rows.instance, rows.operation, stage),
            "attempt": rows.operation.sequence,
            "now": rows.now,
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
