"""Servers: accept, show, explain, delete."""

from __future__ import annotations

from functools import partial
from typing import Any

from armillary.context import RequestContext
from conductor.super_conductor.accept.acceptance import Acceptance
from conductor.super_conductor.build.build_workers import Builds
from conductor.super_conductor.delete.delete_task import Deletes
from conductor.super_conductor.servers.server_operations import ServerOperations
from conductor.super_conductor.servers.server_views import Servers
from conductor.super_conductor.zones.remote_servers import RemoteServers
from objects.instance import Instance
from objects.instances.instance_action import InstanceAction
from objects.instances.server_answers import CreatedServers, ServerPage


class ServersEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(
        self,
        acceptance: Acceptance,
        builds: Builds,
        deletes: Deletes,
        servers: Servers,
        operations: ServerOperations,
        remote_servers: RemoteServers,
    ) -> None:
        self._acceptance = acceptance
        self._builds = builds
        self._deletes = deletes
        self._servers = servers
        self._operations = operations
        self._remote_servers = remote_servers

    def create_servers(self, context: RequestContext, request: dict[str, Any]) -> CreatedServers:
        accepted = self._acceptance.accept(context, request)
        self._builds.begin(accepted.lease)
        return CreatedServers(accepted.lease.key, accepted.instances)

    def get_server(self, context: RequestContext, instance_uuid: str) -> Instance:
        here = partial(self._servers.get_server, context, instance_uuid)
        return self._remote_servers.get_server(context, instance_uuid, here)

    def list_servers(
        self,
        context: RequestContext,
        filters: dict[str, Any],
        limit: int,
        marker: str | None = None,
    ) -> ServerPage:
        return self._servers.list_servers(context, filters=filters, limit=limit, marker=marker)

    def delete_server(self, context: RequestContext, instance_uuid: str) -> None:
        self._servers.check_deletable(context, instance_uuid)
        here = partial(self._operations.soft_delete, context, instance_uuid)
        if not self._remote_servers.soft_delete(context, instance_uuid, here):
            self._deletes.delete(context, instance_uuid)

    def list_server_actions(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceAction]:
        here = partial(self._servers.list_actions, context, instance_uuid)
        return self._remote_servers.ask(context, instance_uuid, "list_server_actions", here)

    def explain_server(
        self,
        context: RequestContext,
        instance_uuid: str,
        with_hosts: bool | None = None,
        decision_of: str | None = None,
    ) -> dict[str, Any]:
        asked: dict[str, Any] = {"with_hosts": with_hosts, "decision_of": decision_of}
        here = partial(self._servers.explain, context, instance_uuid, **asked)
        return self._remote_servers.explain(context, instance_uuid, here, **asked)
