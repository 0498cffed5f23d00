"""Servers: created, listed, operated, explained and deleted."""

from armillary.context import RequestContext
from objects.images.image_record import ImageRecord, NewSnapshot
from objects.instance import Instance
from objects.instances.diagnostics import Diagnostics
from objects.instances.explanation import DryRun, Explanation
from objects.instances.instance_action import InstanceAction
from objects.instances.new_servers import DryRunRequest, NewServers
from objects.instances.operation_arguments import OperationArguments
from objects.instances.serial_console import SerialConsole
from objects.instances.server_answers import CreatedServers, MigrationPage, ServerPage
from objects.instances.server_filters import MigrationFilters, ServerFilters
from objects.instances.server_topology import ServerTopology
from rpc.callers import API, OPERATOR
from rpc.interface import Idempotent, Interface, call


class ServersAPI(Interface):
    """Servers."""

    @call(API, idempotent=Idempotent.BY_KEY)
    def create_servers(self, context: RequestContext, servers: NewServers) -> CreatedServers:
        """Accept a request durably: once it is answered, it is never lost.

        Raises FlavorNotFound, ImageNotFound, AvailabilityZoneNotFound, ServerGroupNotFound,
        HostNotFound, QuotaExceeded, Invalid.
        """

    @call(API, OPERATOR)
    def get_server(
        self, context: RequestContext, instance_uuid: str, *, for_display: bool = False
    ) -> Instance:
        """Return an instance, whether it is a build request, in a cell or in cell0.

        With ``for_display`` it has its pinned availability zone and hints, and one whose cell or
        zone does not answer is ``UNKNOWN``, with the fields that are known here.

        Raises InstanceNotFound; CellUnavailable or ZoneUnavailable unless ``for_display``.
        """

    @call(API)
    def list_servers(
        self,
        context: RequestContext,
        *,
        filters: ServerFilters,
        limit: int,
        marker: str | None = None,
        for_display: bool = False,
    ) -> ServerPage:
        """Return a page of servers, in the order of ``filters``.

        ``marker``: UUID of the last server of the previous page. A cell that does not answer is
        listed in ``down_cells``. Its servers are left out, or ``UNKNOWN`` with ``for_display``,
        unless filters ask for what is not known. ``for_display`` is as for ``get_server``.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def delete_server(self, context: RequestContext, instance_uuid: str) -> None:
        """Accept the delete of a server in any state; once accepted, it will be carried out.

        Raises InstanceNotFound.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def operate_server(
        self,
        context: RequestContext,
        instance_uuid: str,
        operation: str,
        arguments: OperationArguments,
    ) -> None:
        """Accept an operation on a built server.

        Once accepted, the operation is stored and will be executed, or undone with a recorded
        reason (actions, faults). Operations: stop, start, reboot, lock, unlock, rebuild, resize,
        confirm_resize, revert_resize, migrate, live_migrate, evacuate, shelve, shelve_offload,
        unshelve, soft_delete, restore, force_delete, pause, unpause, suspend, resume, rescue,
        unrescue, reset_state, update; delete, for a server whose cell or zone is silent.

        What needs nothing but the server is accepted while its cell or zone does not answer; it is
        done, or refused with the reason in the actions, when that is back.

        Raises InstanceNotFound; InstanceInvalidState, HostIsUp, InstanceLocked; FlavorNotFound,
        ImageNotFound, HostNotFound, QuotaExceeded; NoValidHost if that is known immediately;
        Invalid; CellUnavailable.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def create_snapshot(
        self, context: RequestContext, instance_uuid: str, snapshot: NewSnapshot
    ) -> ImageRecord:
        """Store an image with the status ``saving``, which the server's host stores the data of.

        It becomes active, or is deleted if that fails. Raises InstanceNotFound,
        InstanceInvalidState, InstanceLocked, QuotaExceeded, CellUnavailable.
        """

    @call(API)
    def get_console_output(
        self, context: RequestContext, instance_uuid: str, *, lines: int | None = None
    ) -> str:
        """Return a server's last console output.

        Raises InstanceNotFound, InstanceInvalidState, OperationFailed, OperationUnsupported,
        CellUnavailable.
        """

    @call(API)
    def get_diagnostics(self, context: RequestContext, instance_uuid: str) -> Diagnostics:
        """Return what the driver measures of a server. Raises as ``get_console_output``."""

    @call(API)
    def get_topology(self, context: RequestContext, instance_uuid: str) -> ServerTopology:
        """Return the NUMA topology of a server, without cells if it is on no host.

        Raises InstanceNotFound, InstanceInvalidState (its host is down), CellUnavailable.
        """

    @call(API)
    def create_serial_console(self, context: RequestContext, instance_uuid: str) -> SerialConsole:
        """Return how to reach a server's serial console, once. Raises as ``get_console_output``."""

    @call(API)
    def set_admin_password(
        self, context: RequestContext, instance_uuid: str, *, password: str
    ) -> None:
        """Set the administrator's password in an active server.

        Raises InstanceLocked, and as ``get_console_output``.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def trigger_crash_dump(self, context: RequestContext, instance_uuid: str) -> None:
        """Have a server's kernel dump its memory. Raises as ``set_admin_password``."""

    @call(API)
    def list_migrations(
        self, context: RequestContext, *, filters: MigrationFilters, limit: int
    ) -> MigrationPage:
        """Return a page of migrations, newest first. Raises Invalid for an unknown marker."""

    @call(API)
    def abort_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        """Abort a running live migration.

        Raises InstanceNotFound, MigrationNotFound, InstanceInvalidState, CellUnavailable.
        """

    @call(API)
    def force_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        """Complete a running live migration immediately. Raises as ``abort_migration``."""

    @call(API)
    def list_server_actions(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceAction]:
        """Return the actions with their events, newest first. Raises InstanceNotFound."""

    @call(API)
    def explain_server(
        self,
        context: RequestContext,
        instance_uuid: str,
        *,
        with_hosts: bool | None = None,
        decision_of: str | None = None,
    ) -> Explanation:
        """Return why an instance is on its host.

        The trace is that of the last decision, or of the one made for the request ``decision_of``.

        Without ``with_hosts``, names of hosts and values that may contain them are left out. With
        None they are included for administrators only. Raises InstanceNotFound, DecisionNotFound,
        CellUnavailable.
        """

    @call(API)
    def dry_run(
        self, context: RequestContext, request: DryRunRequest, *, with_hosts: bool
    ) -> DryRun:
        """Return where servers would be built now; nothing is claimed, stored or counted.

        Of ``servers`` the maximum number is tried; for the fields of ``request_spec`` see
        ``conductor.super_conductor.accept.plain_specs``. Names of hosts and zones are left out
        without ``with_hosts``.
        Raises as ``create_servers`` except QuotaExceeded, and UnsupportedPolicy, CellUnavailable,
        Unavailable.
        """
