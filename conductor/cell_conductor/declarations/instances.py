"""Instances: builds, deletes, operations, and what is known of them."""

from collections.abc import Sequence

from armillary.context import RequestContext
from objects.instance import Instance
from objects.instances.build_request import BuildRequest
from objects.instances.diagnostics import Diagnostics
from objects.instances.instance_action import InstanceAction
from objects.instances.instance_fault import InstanceFault
from objects.instances.migration import Migration
from objects.instances.operation_arguments import CellOperation
from objects.instances.serial_console import SerialConsole
from objects.instances.server_answers import InstanceMarker
from objects.instances.server_changes import ServerChanges
from objects.instances.server_filters import MigrationFilters, ServerFilters
from objects.instances.server_topology import ServerTopology
from objects.request_spec import RequestSpec
from objects.selection import Selection
from rpc.callers import CONDUCTOR, OPERATOR
from rpc.interface import Idempotent, Interface, call


class InstancesAPI(Interface):
    """From the super conductor, about an instance of this cell."""

    @call(CONDUCTOR)
    def build_instances(
        self,
        context: RequestContext,
        build_requests: Sequence[BuildRequest],
        *,
        timeout_seconds: float | None = None,
    ) -> None:
        """Store the build requests, then answer. Idempotent."""

    @call(CONDUCTOR, OPERATOR)
    def get_instance(self, context: RequestContext, instance_uuid: str) -> Instance:
        """Return one instance. Raises InstanceNotFound, also for a deleted one."""

    @call(CONDUCTOR, OPERATOR)
    def list_instances(
        self,
        context: RequestContext,
        *,
        filters: ServerFilters,
        limit: int,
        marker: InstanceMarker | None = None,
        timeout_seconds: float | None = None,
    ) -> list[Instance]:
        """Return instances in the order of ``filters``."""

    @call(CONDUCTOR)
    def delete_instance(self, context: RequestContext, instance_uuid: str) -> None:
        """Store the intent to delete, then answer. Unknown and deleted instances are ignored."""

    @call(CONDUCTOR)
    def begin_reclaim(
        self, context: RequestContext, instance_uuid: str, *, kept_seconds: float
    ) -> bool:
        """Have an instance that was soft-deleted so long ago not restored any more.

        Returns whether it is so, and is to be deleted: not if it is being restored, or was.
        """

    @call(CONDUCTOR, idempotent=Idempotent.BY_KEY)
    def begin_operation(
        self, context: RequestContext, instance_uuid: str, operation: str, arguments: CellOperation
    ) -> int:
        """Store an operation on an instance, then answer.

        ``operation`` is a name of ``conductor.cell_conductor.operations.flows``. Operations that
        move an instance have a ``migration_uuid`` and are idempotent; they wait for
        :meth:`continue_operation`. Others are accepted again, and not begun again, when a request
        is repeated. Returns the first fence of the operation's writes to
        placement. Raises InstanceNotFound, InstanceInvalidState, Invalid.
        """

    @call(CONDUCTOR)
    def record_refusal(
        self, context: RequestContext, instance_uuid: str, operation: str, reason: str
    ) -> None:
        """Record in an instance's actions why an accepted operation was not started.

        Does nothing if the request has started this operation. Raises InstanceNotFound.
        """

    @call(CONDUCTOR)
    def continue_operation(
        self,
        context: RequestContext,
        instance_uuid: str,
        migration_uuid: str,
        selections: Sequence[Selection],
        request_spec: RequestSpec,
    ) -> None:
        """Give a move its destination: the selected host and its alternates.

        Idempotent. Raises Conflict when the instance is no longer in that move.
        """

    @call(CONDUCTOR)
    def fail_operation(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str, fault: InstanceFault
    ) -> None:
        """Undo a move for which no host was found. As ``continue_operation``."""

    @call(CONDUCTOR, idempotent=Idempotent.BY_RECORD)
    def set_lock(
        self, context: RequestContext, instance_uuid: str, *, locked: bool, reason: str | None
    ) -> None:
        """Lock or unlock an instance. Raises InstanceNotFound, InstanceInvalidState."""

    @call(CONDUCTOR, idempotent=Idempotent.BY_RECORD)
    def reset_state(self, context: RequestContext, instance_uuid: str, *, vm_state: str) -> None:
        """Set the recorded state of an instance that is on a host.

        Raises InstanceNotFound, InstanceInvalidState.
        """

    @call(CONDUCTOR, idempotent=Idempotent.BY_RECORD)
    def update_instance(
        self, context: RequestContext, instance_uuid: str, *, changes: ServerChanges
    ) -> None:
        """Change name, metadata, tags and settings; idempotent.

        Raises InstanceNotFound, InstanceInvalidState, QuotaExceeded, Invalid.
        """

    @call(CONDUCTOR)
    def abort_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        """Abort a running live migration.

        Raises MigrationNotFound, InstanceInvalidState when it cannot be aborted any more.
        """

    @call(CONDUCTOR)
    def force_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        """Complete a running live migration immediately.

        Raises MigrationNotFound, InstanceInvalidState when it is not being copied.
        """

    @call(CONDUCTOR)
    def list_migrations(
        self,
        context: RequestContext,
        *,
        filters: MigrationFilters,
        limit: int,
        timeout_seconds: float | None = None,
    ) -> list[Migration]:
        """Return migrations, newest first."""

    @call(CONDUCTOR)
    def get_console_output(
        self, context: RequestContext, instance_uuid: str, *, lines: int | None
    ) -> str:
        """Return the last console output of the guest.

        Raises InstanceNotFound, InstanceInvalidState (without a host that can be asked),
        OperationFailed, OperationUnsupported; Unavailable if its agent does not answer, Conflict if
        that is not asked now, as many requests wait for it, or it did not answer a moment ago.
        """

    @call(CONDUCTOR)
    def get_diagnostics(self, context: RequestContext, instance_uuid: str) -> Diagnostics:
        """Return what the driver measures of a guest. Raises as ``get_console_output``."""

    @call(CONDUCTOR)
    def get_topology(self, context: RequestContext, instance_uuid: str) -> ServerTopology:
        """Return the NUMA topology of an instance, without cells if it is on no host.

        Raises InstanceNotFound, InstanceInvalidState (its host is down).
        """

    @call(CONDUCTOR)
    def create_serial_console(self, context: RequestContext, instance_uuid: str) -> SerialConsole:
        """Return how to reach a guest's serial console, once. Raises as ``get_console_output``."""

    @call(CONDUCTOR)
    def set_admin_password(
        self, context: RequestContext, instance_uuid: str, *, password: str
    ) -> None:
        """Set the administrator's password in an active guest. Raises as ``get_console_output``."""

    @call(CONDUCTOR, idempotent=Idempotent.BY_RECORD)
    def trigger_crash_dump(self, context: RequestContext, instance_uuid: str) -> None:
        """Have a guest's kernel dump its memory. Raises as ``get_console_output``."""

    @call(CONDUCTOR)
    def list_instance_actions(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceAction]:
        """Return the actions, newest first; empty for an unknown instance."""

    @call(CONDUCTOR)
    def list_instance_faults(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceFault]:
        """Return a fault for each failed attempt, oldest first; empty for an unknown instance."""
