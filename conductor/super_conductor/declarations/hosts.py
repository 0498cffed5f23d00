"""Hosts, their services, and the view of the fleet."""

from collections.abc import Mapping, Sequence

from armillary.context import RequestContext
from objects.hosts.activity import Activity
from objects.hosts.fleet import FleetPage
from objects.hosts.host_answers import (
    ComputeNodeDetails,
    ComputeNodePage,
    InstanceOnHost,
    ServiceChanges,
    ServicePage,
)
from objects.hosts.host_details import HostDetails
from objects.hosts.host_event import HostEventPage
from objects.hosts.service import Service
from rpc.callers import API, CELL, CONDUCTOR, OPERATOR, PLACEMENT, SCHEDULER
from rpc.interface import Idempotent, Interface, call


class HostsAPI(Interface):
    """Hosts and services."""

    @call(API)
    def list_services(self, context: RequestContext) -> ServicePage:
        """Return the services of all cells and those on the top broker, whose cell is cell0."""

    @call(API)
    def find_compute_services(
        self, context: RequestContext, hosts: Sequence[str]
    ) -> dict[str, Service]:
        """Return host -> compute service of these hosts.

        Left out are hosts without one, and those of cells that do not answer.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def update_service(
        self, context: RequestContext, service_uuid: str, changes: ServiceChanges
    ) -> Service:
        """Change a compute service. Raises ServiceNotFound, Invalid for other services."""

    @call(API)
    def delete_service(self, context: RequestContext, service_uuid: str) -> None:
        """Delete record, compute nodes, providers, mapping. Raises ServiceNotFound, InUse."""

    @call(API, CONDUCTOR, PLACEMENT, SCHEDULER, timeout_seconds=15.0)
    def report_service(
        self,
        context: RequestContext,
        host: str,
        binary: str,
        *,
        service_version: int,
        worker: int = 0,
        figures: Mapping[str, float] | None = None,
    ) -> dict[str, int]:
        """Send the heartbeat of a service that has no other record, with figures of a worker.

        See ``armillary.metrics.service_figures``. Answers as ``get_oldest_services``.
        Raises ServiceTooOld, Invalid, NotItsOwn for the binary of another role than the signer's.
        """

    @call(API, CELL, CONDUCTOR, OPERATOR, PLACEMENT, SCHEDULER)
    def get_oldest_services(self, context: RequestContext) -> dict[str, int]:
        """Return the oldest service version by interface.

        Interfaces of the top broker, named as in ``[upgrade_levels]``; those without a living
        service record are left out.
        """

    @call(CONDUCTOR, SCHEDULER)
    def map_hosts(
        self, context: RequestContext, cell_uuid: str, hosts: Mapping[str, Sequence[str]]
    ) -> list[str]:
        """Return those of these compute nodes that the cell does not have, by UUID.

        ``hosts`` are those that the cell pushed: host -> UUIDs of nodes. A host or node that no
        cell has is mapped to this one before, if it may have it and says that it has. Raises
        CellNotFound, CellUnavailable.
        """

    @call(API, OPERATOR)
    def list_compute_nodes(self, context: RequestContext) -> ComputeNodePage:
        """Return all hypervisors with their usage."""

    @call(API)
    def list_servers_on_hosts(
        self, context: RequestContext, hosts: Sequence[str]
    ) -> list[InstanceOnHost]:
        """Return the servers on these hosts, newest first, at most 1000 of a host.

        Raises CellUnavailable.
        """

    @call(API)
    def get_compute_node(self, context: RequestContext, node: str) -> ComputeNodeDetails:
        """Return one compute node by UUID or node name. Raises ComputeNodeNotFound."""

    @call(API)
    def get_host(self, context: RequestContext, host: str) -> HostDetails:
        """Return one host with its providers, servers and migrations.

        Raises HostNotFound, CellUnavailable.
        """

    @call(API)
    def get_host_events(
        self, context: RequestContext, host: str, *, limit: int, marker: str | None = None
    ) -> HostEventPage:
        """Return what happened on a host, newest first, after the event of a marker.

        These are changes of its service, and the steps of operations on servers there. Raises
        HostNotFound, CellUnavailable, Invalid for a marker of no event.
        """

    @call(API)
    def get_activity(self, context: RequestContext) -> Activity:
        """Return what the services do now; its size does not depend on the number of hosts."""

    @call(API)
    def get_fleet(
        self,
        context: RequestContext,
        *,
        limit: int,
        marker: str | None = None,
        known_epoch: str | None = None,
    ) -> FleetPage:
        """Return a page of all hosts as columns, with capacity and use, at most 2 seconds old.

        ``marker``: the last node of the previous page. Without rows if the page is that of
        ``known_epoch``. Raises Invalid, Unavailable.
        """

    @call(API)
    def get_host_id_key(self, context: RequestContext) -> str:
        """Return the deployment's secret key of hosts' opaque ids, as text."""
