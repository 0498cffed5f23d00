"""Hosts: services, compute nodes, availability zones."""

from __future__ import annotations

from typing import Any

from armillary.context import RequestContext
from conductor.super_conductor.hosts.host_views import Hosts
from objects.hosts.service import Service


class HostsEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts

    def list_services(self, context: RequestContext) -> dict[str, Any]:
        return self._hosts.list_services(context)

    def update_service(
        self, context: RequestContext, service_uuid: str, values: dict[str, Any]
    ) -> Service:
        return self._hosts.update_service(context, service_uuid, values)

    def delete_service(self, context: RequestContext, service_uuid: str) -> None:
        self._hosts.delete_service(context, service_uuid)

    def list_compute_nodes(self, context: RequestContext) -> dict[str, Any]:
        return self._hosts.list_compute_nodes(context)

    def get_compute_node(self, context: RequestContext, node: str) -> dict[str, Any]:
        return self._hosts.get_compute_node(context, node)

    def list_availability_zones(self, context: RequestContext) -> list[dict[str, Any]]:
        return self._hosts.list_availability_zones(context)
