"""RPC interface of the scheduler."""

from collections.abc import Mapping, Sequence

from armillary.context import RequestContext
from objects.aggregate import Aggregate
from objects.destinations import Destinations
from objects.hosts.cluster_metadata import ClusterMetadataDict
from objects.hosts.fleet import HostColumns
from objects.hosts.host_states import HostStateBatch
from objects.packed.scheduling_batch import SchedulingAnswers, SchedulingBatch
from objects.request_spec import RequestSpec
from objects.zones.known_zones import KnownZones
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_query import ZoneQuery
from rpc.callers import CELL, CELL_OF_BATCH, CONDUCTOR
from rpc.interface import Interface, call, fanout

InstancesOfHosts = Mapping[str, Sequence[str]]
"""Host -> UUIDs of instances."""


class SchedulerAPI(Interface):
    """The scheduler, on the top broker. Any number of processes, each able to answer any call."""

    TOPIC = "scheduler"
    SERVED_BY = "scheduler"

    @call(CONDUCTOR)
    def select_destinations(
        self,
        context: RequestContext,
        request_spec: RequestSpec,
        instance_uuids: Sequence[str],
        *,
        fences: Sequence[int],
        return_alternates: bool = True,
        dry_run: bool = False,
        takes_zones: bool = False,
        only_zones: Sequence[str] = (),
        timeout_seconds: float | None = None,
    ) -> Destinations:
        """Select and claim a host for each instance, and select alternates in its cell.

        All or nothing: raises NoValidHost (``kwargs["trace"]`` is the primitive of the
        DecisionTrace, ``kwargs["reason"]`` the sentence) after releasing all claims of this call.
        ``fences`` are those of the claims, one per instance. A second attempt claims with the next
        fences, so later writes must use higher ones. ``dry_run`` claims nothing. With
        ``takes_zones`` the answer may be ``zone_entries``, without claims, if other zones have
        hosts. With ``only_zones``, paths such as ``eu/eu-1``, only these zones below this one and
        those below them are searched, and the answer has ``zone_entries``. Raises Invalid,
        Unavailable shortly after startup, UnsupportedPolicy, Conflict.
        """

    @call(CONDUCTOR)
    def select_destinations_many(
        self,
        context: RequestContext,
        batch: SchedulingBatch,
        *,
        timeout_seconds: float | None = None,
    ) -> SchedulingAnswers:
        """Run ``select_destinations`` for many requests in one message, with claims.

        Each request gets its own answer: its destinations, or the error that it would have raised.
        Raises ``Invalid`` if one of them is malformed, before processing any.
        """

    @call(CONDUCTOR)
    def get_expected_allocations(
        self, context: RequestContext, requests: Sequence[RequestSpec]
    ) -> list[list[dict[str, int]]] | None:
        """Return the allocations that an instance of each request may have in placement.

        Each alternative is class -> amount, summed over all providers. The list is empty for a
        request that cannot be expressed as a query. None means that the driver claims nothing, so
        instances need no allocations.
        """

    @call(CONDUCTOR, timeout_seconds=10.0)
    def list_hosts(self, context: RequestContext) -> HostColumns:
        """Return all hosts that this process knows, as columns, for the view of the fleet."""

    # Zones

    @call(CONDUCTOR)
    def select_for_zone(
        self, context: RequestContext, query: ZoneQuery, *, timeout_seconds: float | None = None
    ) -> ZoneAnswer:
        """Return the best hosts of this zone's sub-tree to a parent zone; claim nothing.

        Raises Invalid if this deployment is not part of a tree of zones or its driver does not
        weigh hosts; Unavailable shortly after startup.
        """

    @call(CONDUCTOR)
    def get_zones(self, context: RequestContext) -> KnownZones:
        """Return what is known of this zone and its children."""

    @call(CONDUCTOR)
    def refresh_zones(self, context: RequestContext) -> None:
        """Push this zone's summary now, and ask the children to push theirs."""

    @fanout(CELL_OF_BATCH)
    def update_host_states(self, context: RequestContext, batch: HostStateBatch) -> None:
        """Push changed host states; a sequence gap reveals losses."""

    @fanout(CONDUCTOR)
    def update_cluster_metadata(
        self, context: RequestContext, metadata: ClusterMetadataDict
    ) -> None:
        """Push cells and aggregates; see ``SuperConductorAPI.get_cluster_metadata``."""

    # Incremental updates

    @fanout(CONDUCTOR)
    def update_aggregates(
        self, context: RequestContext, aggregates: Sequence[Aggregate], *, seq: int | None = None
    ) -> None:
        """Send new and changed aggregates.

        ``seq`` is the metadata version to which this is the complete change. None means that the
        sender does not number its changes; they then apply until the next full metadata.
        """

    @fanout(CONDUCTOR)
    def delete_aggregate(
        self, context: RequestContext, aggregate: str, *, seq: int | None = None
    ) -> None:
        """Report a deleted aggregate, by UUID; ``seq`` as for ``update_aggregates``."""

    @fanout(CELL)
    def update_instance_info(self, context: RequestContext, hosts: InstancesOfHosts) -> None:
        """Report instances added to hosts.

        This and ``delete_instance_info`` apply until the next push of the host's state.
        """

    @fanout(CELL)
    def delete_instance_info(self, context: RequestContext, hosts: InstancesOfHosts) -> None:
        """Report instances removed from hosts."""

    @fanout(CELL)
    def sync_instance_info(self, context: RequestContext, hosts: InstancesOfHosts) -> None:
        """Send the complete instance lists of hosts, to detect gaps."""
