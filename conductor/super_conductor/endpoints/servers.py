"""Servers: accept, show, explain, operate, delete, here or in the zone that has them."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.accept.acceptance import Acceptance
from conductor.super_conductor.builds.build_workers import Builds
from conductor.super_conductor.db.deferred_operations import Deferred
from conductor.super_conductor.delete.delete_task import Deletes
from conductor.super_conductor.servers.deferred_operations import (
    DELETE,
    SOFT_DELETE,
    DeferredOperations,
    StillBusy,
    arguments_of,
    may_be_deferred,
    not_deferrable,
)
from conductor.super_conductor.servers.guest_requests import GuestRequests
from conductor.super_conductor.servers.server_lists import ServerLists
from conductor.super_conductor.servers.server_migrations import ServerMigrations
from conductor.super_conductor.servers.server_operations import (
    ServerOperations,
    is_busy,
    is_soft_deleted,
)
from conductor.super_conductor.servers.server_views import ServerReader
from conductor.super_conductor.zones.remote_servers import RemoteServers
from objects.instance import Instance
from objects.instances.diagnostics import Diagnostics
from objects.instances.explanation import Explanation
from objects.instances.instance_action import InstanceAction
from objects.instances.new_servers import NewServers
from objects.instances.operation_arguments import OperationArguments
from objects.instances.operation_rules import check_unlocked
from objects.instances.serial_console import SerialConsole
from objects.instances.server_answers import CreatedServers, MigrationPage, ServerPage
from objects.instances.server_filters import MigrationFilters, ServerFilters
from objects.instances.server_topology import ServerTopology

T = TypeVar("T")


class ServersEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(
        self,
        acceptance: Acceptance,
        builds: Builds,
        deletes: Deletes,
        servers: ServerReader,
        lists: ServerLists,
        operations: ServerOperations,
        guest_requests: GuestRequests,
        migrations: ServerMigrations,
        remote_servers: RemoteServers,
        deferred: DeferredOperations,
    ) -> None:
        self._acceptance = acceptance
        self._builds = builds
        self._deletes = deletes
        self._servers = servers
        self._lists = lists
        self._operations = operations
        self._guest_requests = guest_requests
        self._migrations = migrations
        self._remote_servers = remote_servers
        self._deferred = deferred
        deferred.performer = self
        operations.defer_soft_delete = self._defer_soft_delete

    def create_servers(self, context: RequestContext, servers: NewServers) -> CreatedServers:
        accepted = self._acceptance.accept(context, servers)
        if accepted.lease is not None:
            self._builds.begin(accepted.lease)
        return accepted.answer

    def get_server(
        self, context: RequestContext, instance_uuid: str, for_display: bool = False
    ) -> Instance:
        here = partial(self._servers.get_server, context, instance_uuid, is_brief=for_display)
        try:
            found = self._remote_servers.get_server(context, instance_uuid, here)
        except exception.Unavailable:
            if not for_display:
                raise
            found = self._servers.get_unknown(context, instance_uuid)
        return self._servers.with_requests([found])[0] if for_display else found

    def list_servers(
        self,
        context: RequestContext,
        filters: ServerFilters,
        limit: int,
        marker: str | None = None,
        for_display: bool = False,
    ) -> ServerPage:
        return self._lists.list_servers(
            context, filters=filters, limit=limit, marker=marker, for_display=for_display
        )

    def delete_server(self, context: RequestContext, instance_uuid: str) -> None:
        self._servers.check_deletable(context, instance_uuid)
        self._delete(context, instance_uuid)

    def _delete(self, context: RequestContext, instance_uuid: str) -> None:
        here = partial(self._operations.soft_delete, context, instance_uuid)
        if not self._remote_servers.soft_delete(context, instance_uuid, here):
            self._deletes.delete(context, instance_uuid)

    def list_server_actions(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceAction]:
        here = self._servers.list_server_actions
        return self._ask_its_zone("list_server_actions", here, context, instance_uuid)

    def explain_server(
        self,
        context: RequestContext,
        instance_uuid: str,
        with_hosts: bool | None = None,
        decision_of: str | None = None,
    ) -> Explanation:
        shows_hosts = bool(context.is_admin if with_hosts is None else with_hosts)
        here = partial(
            self._servers.explain, context, instance_uuid,
            with_hosts=shows_hosts, decision_of=decision_of,
        )  # fmt: skip
        return self._remote_servers.explain(
            context, instance_uuid, here, with_hosts=shows_hosts, decision_of=decision_of
        )

    def operate_server(
        self,
        context: RequestContext,
        instance_uuid: str,
        operation: str,
        arguments: OperationArguments,
    ) -> None:
        if self._deferred.is_accepted(context, instance_uuid, operation):
            return
        try:
            if may_be_deferred(operation):
                self._servers.check_reachable(context, instance_uuid)
            self._operate(context, instance_uuid, operation, arguments)
        except (exception.CellUnavailable, exception.ZoneUnavailable) as error:
            if not may_be_deferred(operation):
                raise not_deferrable(operation, error) from error
            if self._operations.is_move_stored(context, instance_uuid):
                return  # it is resumed
            self._operations.check_references(context, arguments)
            self._deferred.accept(
                context, instance_uuid, operation, arguments, reason=error.message
            )

    def _operate(
        self,
        context: RequestContext,
        instance_uuid: str,
        operation: str,
        arguments: OperationArguments,
    ) -> None:
        if operation == DELETE:
            check_unlocked(context, self.get_server(context, instance_uuid))
            self._delete(context, instance_uuid)
            return
        if operation == "force_delete" and self._remote_servers.is_there(context, instance_uuid):
            self._deletes.delete(context, instance_uuid)
            return
        if self._remote_servers.is_there(context, instance_uuid):
            arguments = self._operations.remote_arguments(
                context, instance_uuid, operation, arguments
            )
        here = partial(self._operations.operate, context, instance_uuid, operation, arguments)
        self._remote_servers.ask(
            context, instance_uuid, "operate_server", here, operation=operation, arguments=arguments
        )

    def perform(self, context: RequestContext, deferred: Deferred) -> None:
        """Carry out a deferred operation; see ``deferred_operations.Performer``."""
        uuid, operation = deferred.instance_uuid, deferred.operation
        try:
            self._operate(context, uuid, operation, arguments_of(deferred))
        except exception.InstanceInvalidState:
            if operation != SOFT_DELETE:
                raise
            self._end_soft_delete(context, deferred)

    def _defer_soft_delete(self, context: RequestContext, instance_uuid: str, reason: str) -> None:
        self._deferred.accept(
            context, instance_uuid, SOFT_DELETE, OperationArguments(), reason=reason
        )

    def _end_soft_delete(self, context: RequestContext, deferred: Deferred) -> None:
        """Delete a server that cannot be kept, or is busy for as long as it would be kept.

        Raises StillBusy.
        """
        server = self.get_server(context, deferred.instance_uuid)
        if is_soft_deleted(server):
            return
        if is_busy(server) and not self._operations.is_reclaimable(deferred.accepted_at):
            raise StillBusy
        self._deletes.delete(context, server.uuid)

    def record_refusal(self, context: RequestContext, deferred: Deferred, reason: str) -> None:
        """Record the refusal of a deferred operation; see ``deferred_operations.Performer``."""
        uuid, operation = deferred.instance_uuid, deferred.operation
        here = self._operations.record_refusal
        self._ask_its_zone(
            "record_refusal", here, context, uuid, operation=operation, reason=reason
        )

    def get_console_output(
        self, context: RequestContext, instance_uuid: str, lines: int | None
    ) -> str:
        here = self._guest_requests.get_console_output
        return self._ask_its_zone("get_console_output", here, context, instance_uuid, lines=lines)

    def get_diagnostics(self, context: RequestContext, instance_uuid: str) -> Diagnostics:
        here = self._guest_requests.get_diagnostics
        return self._ask_its_zone("get_diagnostics", here, context, instance_uuid)

    def get_topology(self, context: RequestContext, instance_uuid: str) -> ServerTopology:
        here = self._guest_requests.get_topology
        return self._ask_its_zone("get_topology", here, context, instance_uuid)

    def create_serial_console(self, context: RequestContext, instance_uuid: str) -> SerialConsole:
        here = self._guest_requests.create_serial_console
        return self._ask_its_zone("create_serial_console", here, context, instance_uuid)

    def set_admin_password(
        self, context: RequestContext, instance_uuid: str, password: str
    ) -> None:
        here = self._guest_requests.set_admin_password
        self._ask_its_zone("set_admin_password", here, context, instance_uuid, password=password)

    def trigger_crash_dump(self, context: RequestContext, instance_uuid: str) -> None:
        here = self._guest_requests.trigger_crash_dump
        self._ask_its_zone("trigger_crash_dump", here, context, instance_uuid)

    def list_migrations(
        self, context: RequestContext, filters: MigrationFilters, limit: int
    ) -> MigrationPage:
        here = partial(self._migrations.list_migrations, context, filters=filters, limit=limit)
        return self._remote_servers.list_migrations(
            context, filters=filters, limit=limit, here=here
        )

    def abort_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        here = self._migrations.abort_migration
        self._ask_its_zone(
            "abort_migration", here, context, instance_uuid, migration_uuid=migration_uuid
        )

    def force_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        here = self._migrations.force_migration
        self._ask_its_zone(
            "force_migration", here, context, instance_uuid, migration_uuid=migration_uuid
        )

    def _ask_its_zone(
        self,
        method: str,
        here: Callable[..., T],
        context: RequestContext,
        instance_uuid: str,
        **arguments: Any,
    ) -> T:
        """Have a server's zone call ``method``, or call ``here`` for a server in this zone."""
        local = partial(here, context, instance_uuid, **arguments)
        return self._remote_servers.ask(context, instance_uuid, method, local, **arguments)
