"""Requests and reports whose work is stored before the answer, and continues after it."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from armillary.concurrency import WorkerPool, WorkerPoolFull
from armillary.context import RequestContext
from conductor.cell_conductor.base_task import Task
from conductor.cell_conductor.builds.build_task import Build
from conductor.cell_conductor.builds.delete_task import Delete
from conductor.cell_conductor.builds.reports import Reports
from conductor.cell_conductor.operations.engine import Operations
from conductor.common.leased_work import Release
from conductor.common.leases import Lease
from objects.instances.build_request import BuildRequest
from objects.instances.instance_command import CommandAnswer, CommandId
from objects.instances.instance_fault import InstanceFault
from objects.instances.operation_arguments import CellOperation
from objects.request_spec import RequestSpec
from objects.selection import Selection

LOG = logging.getLogger(__name__)


class StartedWork:
    """Endpoint, see ``CellConductorAPI``: builds, deletes and operations, on a pool of workers."""

    def __init__(
        self,
        pool: WorkerPool,
        *,
        build: Build,
        delete: Delete,
        operations: Operations,
        reports: Reports,
    ) -> None:
        self._pool = pool
        self._build = build
        self._delete = delete
        self._operations = operations
        self._reports = reports

    # From the super conductor

    def build_instances(
        self, context: RequestContext, build_requests: Sequence[BuildRequest]
    ) -> None:
        leases = self._build.store(context, build_requests)
        begin = partial(self._build.begin, context, build_requests, leases)
        self._submit(self._build, begin, leases)

    def delete_instance(self, context: RequestContext, instance_uuid: str) -> None:
        self._begin(self._delete, context, self._delete.store(context, instance_uuid))

    def begin_operation(
        self, context: RequestContext, instance_uuid: str, operation: str, arguments: CellOperation
    ) -> int:
        stored = self._operations.requests.store(context, instance_uuid, operation, arguments)
        self._begin(self._operations, context, stored.leases)
        return stored.fence

    def continue_operation(
        self,
        context: RequestContext,
        instance_uuid: str,
        migration_uuid: str,
        selections: Sequence[Selection],
        request_spec: RequestSpec,
    ) -> None:
        leases = self._operations.requests.go_on(
            instance_uuid, migration_uuid, selections, request_spec
        )
        self._begin(self._operations, context, leases)

    def fail_operation(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str, fault: InstanceFault
    ) -> None:
        leases = self._operations.requests.fail(instance_uuid, migration_uuid, fault)
        self._begin(self._operations, context, leases)

    def other_cell_command_answered(
        self,
        context: RequestContext,
        migration_uuid: str,
        command: CommandId,
        answer: CommandAnswer,
        fault: InstanceFault | None,
    ) -> str:
        found, leases = self._operations.answers.answered_in_other_cell(
            migration_uuid, command, answer=answer, fault=fault
        )
        self._begin(self._operations, context, leases)
        return found

    # From agents

    def command_answered(
        self,
        context: RequestContext,
        agent: str,
        command: CommandId,
        answer: CommandAnswer,
        fault: InstanceFault | None,
    ) -> str:
        found, leases = self._operations.answers.answered(
            agent, command, answer=answer, fault=fault
        )
        self._begin(self._operations, context, leases)
        return found

    def build_failed(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        attempt: int,
        fault: InstanceFault,
        retry: bool,
    ) -> str:
        answer, leases = self._reports.take_build_failure(
            agent, host, instance_uuid, attempt, fault=fault, retry=retry
        )
        self._begin(self._build, context, leases)
        return answer

    def instance_deleted(
        self, context: RequestContext, agent: str, host: str, instance_uuid: str
    ) -> str:
        answer, leases = self._reports.take_guest_gone(agent, host, instance_uuid)
        self._begin(self._delete, context, leases)
        return answer

    def _begin(self, task: Task[Any], context: RequestContext, leases: Sequence[Lease]) -> None:
        """Run a task after the answer, or leave it to recovery when the pool is full."""
        self._submit(task, partial(task.run, context, leases), leases)

    def _submit(self, task: Task[Any], work: Callable[[], None], leases: Sequence[Lease]) -> None:
        if not leases:
            return
        try:
            self._pool.submit(work)
        except (WorkerPoolFull, RuntimeError) as error:
            LOG.info("Tasks left to recovery: %d (%s)", len(leases), error)
            task.release([Release(lease) for lease in leases])
