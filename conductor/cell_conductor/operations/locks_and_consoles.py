"""Requests about instances that need no operation flow: changes, locks, what a guest shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import timedelta

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from compute_agent.interface import ComputeAPI
from conductor.cell_conductor.hosts.agent_calls import AgentCalls
from conductor.cell_conductor.operations.resize import HANDED_OVER
from conductor.cell_conductor.operations.soft_delete import SOFT_DELETED
from conductor.common.cell_db import (
    actions,
    faults,
    instance_changes,
    instances,
    models,
    operations,
    services,
)
from conductor.common.clock import Clock, moment
from objects.instance import ADMIN, OWNER
from objects.instances import operation_rules
from objects.instances.diagnostics import Diagnostics
from objects.instances.instance_fault import InstanceFault
from objects.instances.serial_console import SerialConsole
from objects.instances.server_changes import ServerChanges
from objects.instances.server_topology import ServerTopology

DELETING = "deleting"
RESET_STATE = "reset its state"
RESETTABLE = frozenset({"active", "stopped", "paused", "suspended", "rescued", "error"})


@dataclasses.dataclass(frozen=True, slots=True)
class _Act:
    """An immediate action of an agent on a guest: its name, and the states that allow it."""

    action: str
    operation: str
    """Describes it in messages."""
    vm_states: tuple[str, ...]


_CHANGE_PASS = _Act("change_password", "change its password", ("active",))
_CRASH_DUMP = _Act(
    "trigger_crash_dump",
    "trigger a crash dump",
    ("active", "paused", "rescued", "resized", "error"),
)


class LocksAndConsoles:
    """Endpoint, see ``CellConductorAPI``: one transaction or one call to an agent each."""

    def __init__(self, *, database: Database, compute: ComputeAPI, now: Clock) -> None:
        self._database = database
        self._compute = compute
        self._calls = AgentCalls()
        self._now = now

    def set_lock(
        self, context: RequestContext, instance_uuid: str, *, locked: bool, reason: str | None
    ) -> None:
        """Lock or unlock an instance. Idempotent. Raises InstanceNotFound.

        A user who locks an instance that an administrator has locked changes nothing. Raises
        InstanceInvalidState while the instance is handed over to another cell, which would not
        receive the change.
        """

        def write(session: Session) -> None:
            action = "lock" if locked else "unlock"
            row = _changeable(session, instance_uuid, action)
            if locked and row.locked_by == ADMIN and not context.is_admin:
                return
            now = moment(self._now())
            actions.start_for_row(session, context, action, row, now=now)
            row.locked, row.locked_reason = locked, reason if locked else None
            row.locked_by = (ADMIN if context.is_admin else OWNER) if locked else None
            row.updated_at = now
            actions.finish(session, instance_uuid, action, message=None, now=now)

        self._database.run_in_writer(write)

    def update_instance(
        self, context: RequestContext, instance_uuid: str, changes: ServerChanges
    ) -> None:
        """Change name, metadata, tags and settings. Idempotent.

        Raises InstanceNotFound, Forbidden, Invalid, and InstanceInvalidState as ``set_lock``.
        """

        def write(session: Session) -> None:
            row = _changeable(session, instance_uuid, "update")
            instance_changes.apply(row, changes, now=moment(self._now()))

        self._database.run_in_writer(write)

    def reset_state(self, context: RequestContext, instance_uuid: str, *, vm_state: str) -> None:
        """Set the state of an instance on a host, active or error. Idempotent.

        Raises InstanceNotFound; InstanceInvalidState in a state with more records to it (a resize
        to confirm, a shelved guest), and while an operation is in progress: it does not get stuck.
        """

        def write(session: Session) -> None:
            row = _changeable(session, instance_uuid, RESET_STATE)
            if row.task_state is not None:
                raise operation_rules.refusal(
                    row, RESET_STATE, f"it is {row.task_state}; wait until that has ended"
                )
            if row.host is None or row.vm_state not in RESETTABLE:
                states = ", ".join(sorted(RESETTABLE))
                found = row.vm_state if row.host else f"{row.vm_state}, on no host"
                raise operation_rules.refusal(
                    row, RESET_STATE, f"it is {found}, and must be one of {states}, on a host"
                )
            now = moment(self._now())
            if vm_state == "error" and row.vm_state != "error":
                row.operations_total += 1
                faults.record(session, _set_to_error(context, row), now=now)
            row.vm_state, row.updated_at = vm_state, now

        self._database.run_in_writer(write)

    def begin_reclaim(
        self, context: RequestContext, instance_uuid: str, kept_seconds: float
    ) -> bool:
        """Let no operation begin on a soft-deleted instance, which is deleted next. Idempotent."""
        limit = moment(self._now()) - timedelta(seconds=kept_seconds)

        def write(session: Session) -> bool:
            row = instances.lock(session, instance_uuid)
            if row is None or row.vm_state != SOFT_DELETED:
                return False
            if row.task_state is None and row.updated_at is not None and row.updated_at <= limit:
                row.task_state = DELETING
            return row.task_state == DELETING

        return self._database.run_in_writer(write)

    def get_console_output(
        self, context: RequestContext, instance_uuid: str, *, lines: int | None
    ) -> str:
        """Return the last console output of the guest.

        Raises InstanceNotFound; InstanceInvalidState when no host can be asked; what the agent
        raises; Conflict or Unavailable as ``AgentCalls``.
        """
        agent, host = self._agent_of(self._row(instance_uuid), "show its console")
        return self._calls.ask(
            agent,
            lambda: self._compute.get_console_output(
                context, agent, instance_uuid, host, lines=lines
            ),
        )

    def get_diagnostics(self, context: RequestContext, instance_uuid: str) -> Diagnostics:
        """Return what the driver measures of a guest. Raises as ``get_console_output``."""
        agent, host = self._agent_of(self._row(instance_uuid), "show diagnostics")
        return self._calls.ask(
            agent, lambda: self._compute.get_diagnostics(context, agent, instance_uuid, host)
        )

    def get_topology(self, context: RequestContext, instance_uuid: str) -> ServerTopology:
        """Return the NUMA topology of an instance; empty without a host.

        Raises as ``get_console_output``.
        """
        row = self._row(instance_uuid)
        if row.host is None:
            return ServerTopology()
        agent, host = self._agent_of(row, "show its topology")
        return self._calls.ask(
            agent, lambda: self._compute.get_topology(context, agent, instance_uuid, host)
        )

    def create_serial_console(self, context: RequestContext, instance_uuid: str) -> SerialConsole:
        """Return how to reach a guest's serial console, once. Raises as ``get_console_output``."""
        agent, host = self._agent_of(self._row(instance_uuid), "connect to its console")
        return self._calls.ask(
            agent, lambda: self._compute.create_serial_console(context, agent, instance_uuid, host)
        )

    def set_admin_password(
        self, context: RequestContext, instance_uuid: str, password: str
    ) -> None:
        """Set the administrator's password in an active guest. Raises as ``get_console_output``.

        The record of the action says whether it was done, and not the password.
        """
        self._act(
            context, instance_uuid, _CHANGE_PASS,
            lambda agent, host: self._compute.set_admin_password(
                context, agent, instance_uuid, host, password=password
            ),
        )  # fmt: skip

    def trigger_crash_dump(self, context: RequestContext, instance_uuid: str) -> None:
        """Have a guest's kernel dump its memory. Raises as ``get_console_output``."""
        self._act(
            context, instance_uuid, _CRASH_DUMP,
            lambda agent, host: self._compute.trigger_crash_dump(
                context, agent, instance_uuid, host
            ),
        )  # fmt: skip

    def _act(
        self,
        context: RequestContext,
        instance_uuid: str,
        act: _Act,
        ask: Callable[[str, str], None],
    ) -> None:
        """Have an instance's agent perform an immediate action, and record it."""
        row = self._row(instance_uuid)
        agent, host = self._agent_of(row, act.operation)
        operation_rules.check_state(row, act.operation, act.vm_states)
        self._record(lambda session: self._start_action(session, context, instance_uuid, act))
        message = None
        try:
            self._calls.ask(agent, lambda: ask(agent, host))
        except Exception:
            message = actions.FAILED
            raise
        finally:
            self._record(
                lambda session: actions.finish(
                    session, instance_uuid, act.action, message=message, now=moment(self._now())
                )
            )

    def _record(self, write: Callable[[Session], object]) -> None:
        self._database.run_in_writer(write)

    def _start_action(
        self, session: Session, context: RequestContext, uuid: str, act: _Act
    ) -> None:
        row = _changeable(session, uuid, act.operation)
        actions.start_for_row(session, context, act.action, row, now=moment(self._now()))

    def _row(self, instance_uuid: str) -> models.Instance:
        with self._database.reader() as session:
            row = instances.find_rows(session, [instance_uuid]).get(instance_uuid)
        if row is None or row.deleted_at is not None:
            raise exception.InstanceNotFound(instance_uuid=instance_uuid)
        return row

    def _agent_of(self, row: models.Instance, operation: str) -> tuple[str, str]:
        """Return the agent and host to ask about an instance. Raises InstanceInvalidState."""
        found = self._database.read(services.find_by_hosts, {row.host} if row.host else set())
        service = found.get(str(row.host))
        if service is None or service.agent is None or not service.is_up:
            raise operation_rules.refusal(row, operation, "it is on no host that is up")
        return service.agent, service.host


def _set_to_error(context: RequestContext, row: models.Instance) -> InstanceFault:
    return InstanceFault.from_values(
        instance_uuid=row.uuid,
        host=row.host,
        attempt=-row.operations_total,
        message="Its state was set to ERROR by an administrator.",
        details=f"reset-state by user {context.user_id}, request {context.request_id}",
    )


def _changeable(session: Session, instance_uuid: str, operation: str) -> models.Instance:
    """Lock and return the row of an instance that can be changed in this cell."""
    row = instances.lock(session, instance_uuid)
    if row is None or row.deleted_at is not None:
        raise exception.InstanceNotFound(instance_uuid=instance_uuid)
    flow = operations.lock(session, instance_uuid)
    if row.hidden or (flow is not None and flow.stage in HANDED_OVER):
        reason = "it is being handed over to another cell; try again in a moment"
        raise operation_rules.refusal(row, operation, reason)
    return row
