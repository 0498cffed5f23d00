"""Hosts of a cell: their services, nodes and instances, and which agents may have them."""

from collections.abc import Sequence

from armillary.context import RequestContext
from objects.hosts.activity import CellActivity
from objects.hosts.compute_node import ComputeNode
from objects.hosts.host_answers import HostRequest, InstanceOnHost, ServiceChanges, ZoneUse
from objects.hosts.host_details import HostRecords
from objects.hosts.host_event import HostEvent
from objects.hosts.image_fetches import ImageFetches
from objects.hosts.service import Service
from objects.images.image_meta import ImageMeta
from objects.images.image_ticket import ImageTicket
from rpc.callers import CONDUCTOR, OPERATOR
from rpc.interface import Idempotent, Interface, call


class HostsAPI(Interface):
    """From the super conductor, about this cell's hosts."""

    @call(CONDUCTOR)
    def find_living_migrations(
        self, context: RequestContext, migration_uuids: Sequence[str]
    ) -> list[str]:
        """Return the given migrations that have not ended."""

    @call(CONDUCTOR, OPERATOR)
    def find_instance_hosts(
        self, context: RequestContext, instance_uuids: Sequence[str]
    ) -> dict[str, str]:
        """Return instance -> host for instances that live here and have a host."""

    @call(CONDUCTOR)
    def find_hosts_in_use(self, context: RequestContext, hosts: Sequence[str]) -> dict[str, str]:
        """Return those of these hosts that have instances, each with one of them.

        Instances that live or are built there, may be built there next (alternates), or are moved
        from or to there, resizes that wait for their confirmation included.
        """

    @call(CONDUCTOR, OPERATOR)
    def list_zone_uses(self, context: RequestContext) -> list[ZoneUse]:
        """Return for each pair of host and availability zone that instances have, how many."""

    @call(CONDUCTOR)
    def list_services(
        self, context: RequestContext, *, timeout_seconds: float | None = None
    ) -> list[Service]:
        """Return all service records of the cell, with ``up`` computed."""

    @call(CONDUCTOR)
    def find_compute_services(self, context: RequestContext, hosts: Sequence[str]) -> list[Service]:
        """Return the compute services of those of these hosts that have one."""

    @call(CONDUCTOR)
    def list_instances_on_hosts(
        self, context: RequestContext, hosts: Sequence[str]
    ) -> list[InstanceOnHost]:
        """Return the instances on these hosts, newest first, at most 1000 of a host."""

    @call(CONDUCTOR)
    def get_activity(
        self, context: RequestContext, *, timeout_seconds: float | None = None
    ) -> CellActivity:
        """Return what the cell does now: its conductors, figures, works, and counts of hosts."""

    @call(CONDUCTOR)
    def get_host_records(self, context: RequestContext, host: str) -> HostRecords:
        """Return the compute service and the nodes of a host. Raises HostNotFound."""

    @call(CONDUCTOR)
    def list_host_events(
        self, context: RequestContext, host: str, *, limit: int, marker: str | None = None
    ) -> list[HostEvent]:
        """Return the events of a host, newest first, after the one of a marker. Raises Invalid."""

    @call(CONDUCTOR)
    def cache_images(
        self,
        context: RequestContext,
        host: str,
        images: Sequence[ImageMeta],
        tickets: Sequence[ImageTicket],
    ) -> ImageFetches:
        """Have a host fetch images; the same request again returns how far it is.

        ``tickets`` are for those of our own image service.

        Raises HostNotFound, Unavailable for a host that is down, OperationUnsupported.
        """

    @call(CONDUCTOR)
    def get_oldest_services(self, context: RequestContext) -> dict[str, int]:
        """Return the oldest service version of the cell's conductors and of its agents.

        {"cell_conductor": number, "compute": number}; a kind without a record is left out.
        """

    @call(CONDUCTOR, idempotent=Idempotent.BY_RECORD)
    def update_service(
        self, context: RequestContext, service_uuid: str, changes: ServiceChanges
    ) -> Service:
        """Change a service; disabling also sets COMPUTE_STATUS_DISABLED in placement.

        Raises ServiceNotFound; Invalid for a service without hosts.
        """

    @call(CONDUCTOR)
    def delete_service(self, context: RequestContext, service_uuid: str) -> str:
        """Remove a service, its nodes and providers; return the host.

        Raises ServiceNotFound, InUse.
        """

    @call(CONDUCTOR)
    def list_compute_nodes(
        self, context: RequestContext, *, timeout_seconds: float | None = None
    ) -> list[ComputeNode]:
        """Return all compute nodes of the cell."""

    @call(CONDUCTOR, OPERATOR)
    def list_known_hosts(self, context: RequestContext) -> dict[str, list[str]]:
        """Return host -> sorted UUIDs of its nodes, for hosts with a compute service or a node."""

    @call(OPERATOR)
    def list_host_requests(self, context: RequestContext) -> list[HostRequest]:
        """Return the hosts that agents asked for and were refused, by host and agent."""

    @call(OPERATOR, idempotent=Idempotent.BY_RECORD)
    def approve_host(self, context: RequestContext, host: str, agent: str) -> None:
        """Give a host to an agent, also one of another agent or without a record. Idempotent."""

    @call(OPERATOR, idempotent=Idempotent.BY_RECORD)
    def release_host(self, context: RequestContext, host: str) -> None:
        """Let the next agent have a host that is enrolled or approved for it.

        Idempotent. Raises HostNotFound.
        """
