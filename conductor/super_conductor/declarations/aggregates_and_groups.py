"""Aggregates, availability zones and server groups."""

from collections.abc import Sequence

from armillary.context import RequestContext
from objects.aggregate import Aggregate, AggregateChanges
from objects.hosts.host_answers import AvailabilityZone
from objects.instances.instance_group import InstanceGroup
from rpc.callers import API, OPERATOR
from rpc.interface import Idempotent, Interface, call


class AggregatesAndGroupsAPI(Interface):
    """Aggregates, availability zones and server groups."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def create_aggregate(
        self, context: RequestContext, name: str, availability_zone: str | None
    ) -> Aggregate:
        """Create an aggregate without hosts. Raises AggregateExists, Invalid."""

    @call(API, OPERATOR)
    def list_aggregates(self, context: RequestContext) -> list[Aggregate]:
        """Return all aggregates, sorted by ID."""

    @call(API)
    def get_aggregate(self, context: RequestContext, aggregate: str) -> Aggregate:
        """Return an aggregate by ID or UUID (as text). Raises AggregateNotFound."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def update_aggregate(
        self, context: RequestContext, aggregate: str, changes: AggregateChanges
    ) -> Aggregate:
        """Change an aggregate.

        Raises AggregateNotFound, AggregateExists, HostInOtherZone, ZoneInUseByServers,
        ZoneKeptByServer.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def delete_aggregate(self, context: RequestContext, aggregate: str) -> None:
        """Delete an aggregate. Raises AggregateNotFound, AggregateInUse while it has hosts."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def add_aggregate_host(self, context: RequestContext, aggregate: str, host: str) -> Aggregate:
        """Add a host to an aggregate.

        Raises AggregateNotFound, HostNotFound, AggregateHostExists, HostInOtherZone,
        ZoneInUseByServers.
        """

    @call(API, idempotent=Idempotent.BY_RECORD)
    def remove_aggregate_host(
        self, context: RequestContext, aggregate: str, host: str
    ) -> Aggregate:
        """Remove a host from an aggregate. Raises AggregateNotFound, AggregateHostNotFound."""

    @call(API)
    def cache_images(
        self, context: RequestContext, aggregate: str, image_ids: Sequence[str]
    ) -> None:
        """Have the hosts of an aggregate fetch images, after the answer.

        What became of it is logged, and notified for each host. Raises AggregateNotFound,
        ImageNotFound, Invalid for an image without data, Unavailable with too many requests.
        """

    @call(API)
    def list_availability_zones(self, context: RequestContext) -> list[AvailabilityZone]:
        """Return all availability zones, sorted by name."""

    @call(API, idempotent=Idempotent.BY_RECORD)
    def create_server_group(
        self, context: RequestContext, name: str, policy: str, rules: dict[str, str]
    ) -> InstanceGroup:
        """Create a server group without members. Raises Invalid, QuotaExceeded."""

    @call(API)
    def list_server_groups(
        self, context: RequestContext, *, all_projects: bool = False
    ) -> list[InstanceGroup]:
        """Return the project's groups, or all for an administrator."""

    @call(API)
    def get_server_group(self, context: RequestContext, group: str) -> InstanceGroup:
        """Return one group. Raises ServerGroupNotFound."""

    @call(API)
    def delete_server_group(self, context: RequestContext, group: str) -> None:
        """Delete a group; its members are not changed. Raises ServerGroupNotFound."""
