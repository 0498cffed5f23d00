"""Operations on servers after their build, their consoles and migrations."""

from __future__ import annotations

from typing import Any

from armillary.context import RequestContext
from conductor.endpoints.exposed import exposed
from conductor.server_operations import ServerOperations


class ServerOperationsEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, operations: ServerOperations) -> None:
        self._operations = operations

    @exposed
    def operate_server(
        self,
        context: RequestContext,
        instance_uuid: str,
        operation: str,
        arguments: dict[str, Any],
    ) -> None:
        self._operations.operate(context, instance_uuid, operation, arguments)

    @exposed
    def get_console_output(
        self, context: RequestContext, instance_uuid: str, lines: int | None
    ) -> str:
        return self._operations.get_console_output(context, instance_uuid, lines=lines)

    @exposed
    def list_migrations(
        self, context: RequestContext, filters: dict[str, Any], limit: int
    ) -> dict[str, Any]:
        return self._operations.list_migrations(context, filters=filters, limit=limit)

    @exposed
    def abort_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        self._operations.abort_migration(context, instance_uuid, migration_uuid)
