"""Operations on built servers, their consoles and migrations."""

from __future__ import annotations

from functools import partial
from typing import Any

from armillary.context import RequestContext
from conductor.super_conductor.delete.delete_task import Deletes
from conductor.super_conductor.servers.server_operations import ServerOperations
from conductor.super_conductor.zones.remote_servers import RemoteServers
from objects.instances.server_answers import MigrationPage


class ServerOperationsEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(
        self, operations: ServerOperations, deletes: Deletes, remote_servers: RemoteServers
    ) -> None:
        self._operations = operations
        self._deletes = deletes
        self._remote_servers = remote_servers

    def operate_server(
        self, context: RequestContext, instance_uuid: str, operation: str, arguments: dict[str, Any]
    ) -> None:
        if operation == "force_delete" and self._remote_servers.is_there(context, instance_uuid):
            self._deletes.delete(context, instance_uuid)
            return
        if self._remote_servers.is_there(context, instance_uuid):
            arguments = self._operations.remote_arguments(instance_uuid, operation, arguments)
        asked: dict[str, Any] = {"operation": operation, "arguments": arguments}
        here = partial(self._operations.operate, context, instance_uuid, **asked)
        self._remote_servers.ask(context, instance_uuid, "operate_server", here, **asked)

    def get_console_output(
        self, context: RequestContext, instance_uuid: str, lines: int | None
    ) -> str:
        here = partial(self._operations.get_console_output, context, instance_uuid, lines=lines)
        return self._remote_servers.ask(
            context, instance_uuid, "get_console_output", here, lines=lines
        )

    def list_migrations(
        self, context: RequestContext, filters: dict[str, Any], limit: int
    ) -> MigrationPage:
        asked: dict[str, Any] = {"filters": filters, "limit": limit}
        here = partial(self._operations.list_migrations, context, **asked)
        return self._remote_servers.list_migrations(context, here=here, **asked)

    def abort_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        here = partial(self._operations.abort_migration, context, instance_uuid, migration_uuid)
        self._remote_servers.ask(
            context, instance_uuid, "abort_migration", here, migration_uuid=migration_uuid
        )
