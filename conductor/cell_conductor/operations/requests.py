"""Requests for operations: checked and stored here, with the hosts that a super conductor found."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.cell_conductor.operations import commands
from conductor.cell_conductor.operations.flow import Flow, SuperStage
from conductor.cell_conductor.operations.rows import fence
from conductor.cell_conductor.operations.transitions import Transitions, record_failure
from conductor.common import stored_contexts
from conductor.common.cell_db import actions, instances, migrations, models, operations, services
from conductor.common.cell_db.flow_states import FlowState, Move
from conductor.common.cell_db.stored_object import StoredObject
from conductor.common.clock import Clock, moment
from conductor.common.leases import Lease
from objects.allocations.fence import Fence
from objects.instances.instance_fault import InstanceFault
from objects.instances.operation_arguments import CellOperation
from objects.request_spec import RequestSpec
from objects.selection import Selection


@dataclasses.dataclass(frozen=True)
class Stored:
    """A stored operation: its first fence, and the leases to run."""

    fence: int
    leases: list[Lease]


class Requests:
    """Stores operations, and takes the super conductor's answers to those that wait for it.

    Callers run the leases that the methods return.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        database: Database,
        transitions: Transitions,
        *,
        flows: Mapping[str, Flow],
        now: Clock,
        is_host_up: Callable[[models.Service | None], bool],
    ) -> None:
        self._cell_uuid = conf.cell.uuid
        self._database = database
        self._transitions = transitions
        self._flows = flows
        self._now = now
        self._is_host_up = is_host_up

    def store(
        self, context: RequestContext, instance_uuid: str, operation: str, arguments: CellOperation
    ) -> Stored:
        """Store an operation; there are no leases while it waits for the top.

        Idempotent per migration, or per request. Raises InstanceNotFound; InstanceInvalidState if
        the instance's state does not allow it; Invalid.
        """
        flow = self._flows.get(operation)
        if flow is None:
            raise exception.Invalid(reason=f"unknown operation {operation!r}")
        return self._database.run_in_writer(self._store, context, instance_uuid, flow, arguments)

    def record_refusal(
        self, context: RequestContext, instance_uuid: str, operation: str, reason: str
    ) -> None:
        """Record an action that failed immediately; see ``CellConductorAPI``."""

        def write(session: Session) -> None:
            instance = instances.lock(session, instance_uuid)
            if instance is None or instance.deleted_at is not None:
                raise exception.InstanceNotFound(instance_uuid=instance_uuid)
            if actions.is_known(session, instance_uuid, operation, context.request_id):
                return
            actions.record_refused(
                session, context, operation, instance, reason, now=moment(self._now())
            )

        self._database.run_in_writer(write)

    def go_on(
        self,
        instance_uuid: str,
        migration_uuid: str,
        selections: Sequence[Selection],
        request_spec: RequestSpec,
    ) -> list[Lease]:
        """Leave the super conductor's stage with the hosts that it found; idempotent.

        Raises Conflict if the operation no longer exists.
        """
        found = [StoredObject.of(selection) for selection in selections]
        spec = StoredObject.of(request_spec)

        def note(row: models.InstanceOperation) -> None:
            dataclasses.replace(Move.of(row), selections=found, request_spec=spec).store(row)

        return self._leave_super(instance_uuid, migration_uuid, note, lambda stage: stage.then)

    def fail(self, instance_uuid: str, migration_uuid: str, fault: InstanceFault) -> list[Lease]:
        """Leave the super conductor's stage because it found no host; idempotent.

        Raises Conflict if the operation no longer exists.
        """
        return self._leave_super(
            instance_uuid,
            migration_uuid,
            lambda row: record_failure(row, fault),
            lambda stage: stage.undo,
        )

    def _store(
        self,
        session: Session,
        context: RequestContext,
        instance_uuid: str,
        flow: Flow,
        arguments: CellOperation,
    ) -> Stored:
        instance = instances.lock(session, instance_uuid)
        if instance is None or instance.deleted_at is not None:
            raise exception.InstanceNotFound(instance_uuid=instance_uuid)
        present = operations.lock(session, instance_uuid)
        migration_uuid = arguments.migration_uuid
        if present is not None and migration_uuid and present.migration_uuid == migration_uuid:
            return Stored(int(fence(present)), [])
        if migration_uuid and migrations.find(session, migration_uuid) is not None:
            raise flow.refusal(instance, f"its migration {migration_uuid} has ended")  # a duplicate
        request = (session, instance_uuid, flow.operation, context.request_id)
        if not migration_uuid and actions.is_known(*request):  # accepted before, over or not
            number = instance.operations_total if present is None else present.number
            return Stored(int(Fence.of_operation(number)), [])
        if actions.is_over(*request):
            raise flow.refusal(instance, f"request {context.request_id} for it has ended")
        if instance.hidden:
            raise flow.refusal(instance, "it is changing cells")
        interrupted = None
        if present is not None and flow.replaces(instance, arguments):
            rows = self._transitions.rows(session, instance, present)
            interrupted = self._transitions.replace(rows, flow)
        flow.check(instance)
        instance.operations_total += 1
        now = moment(self._now())
        row = models.InstanceOperation(
            instance_uuid=instance_uuid,
            operation=flow.operation,
            stage="",
            sequence=0,
            number=instance.operations_total,
            migration_uuid=migration_uuid,
            flow_state={},
            context=stored_contexts.to_plain(context),
            tries=0,
            created_at=now,
            lease_owner=None,
            lease_expires_at=0.0,
        )
        FlowState(instance.vm_state, self._cell_uuid, interrupted=interrupted).store(row)
        session.add(row)
        instance.task_state = flow.task_state
        instance.updated_at = now
        actions.start_for_row(session, context, flow.operation, instance, now=now)
        flow.begin(self._transitions.rows(session, instance, row), arguments)
        self._check_host(session, flow, instance, row)
        leases = self._transitions.enter(self._transitions.rows(session, instance, row), flow.first)
        return Stored(int(fence(row)), leases)

    def _check_host(
        self, session: Session, flow: Flow, instance: models.Instance, row: models.InstanceOperation
    ) -> None:
        """Raise InstanceInvalidState if the host that the flow needs is down.

        The super conductor has already checked a host of another cell there.
        """
        if flow.needs is None or commands.cell_at(row, flow.needs) is not None:
            return
        host = commands.host_at(instance, row, flow.needs)
        if host is None:
            return
        service = services.find_by_hosts(session, {host}).get(host)
        if not self._is_host_up(service):
            raise flow.refusal(
                instance,
                f"host {host} is down; wait until it is back, or have the server evacuated",
            )

    def _leave_super(
        self,
        instance_uuid: str,
        migration_uuid: str,
        note: Callable[[models.InstanceOperation], None],
        following: Callable[[SuperStage], str],
    ) -> list[Lease]:
        def write(session: Session) -> list[Lease]:
            instance = instances.lock(session, instance_uuid)
            row = operations.lock(session, instance_uuid)
            if instance is None or row is None or row.migration_uuid != migration_uuid:
                raise exception.Conflict(
                    reason=f"instance {instance_uuid} is no longer in migration {migration_uuid}"
                )
            stage = self._transitions.stage_of(row)
            if not isinstance(stage, SuperStage):
                return []
            rows = self._transitions.rows(session, instance, row)
            note(row)
            return self._transitions.enter(rows, following(stage))

        return self._database.run_in_writer(write)
