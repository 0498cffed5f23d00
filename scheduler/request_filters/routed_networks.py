"""Request filter for the segments of routed networks."""

from objects.aggregate import Aggregate
from objects.extra_specs.aggregate_metadata import ROUTED_NETWORK
from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.hosts import aggregate_metadata
from scheduler.hosts.cluster_metadata import ClusterMetadata


class RoutedNetworks(request_filters.BaseRequestFilter):
    """Require a provider on a segment of each requested network.

    Enabled by ``[scheduler] query_placement_for_routed_network_aggregates``. A segment of a routed
    network is an aggregate whose metadata ``routed_network`` is the network's UUID, or a
    comma-separated list that contains it. One segment per network suffices, but every network needs
    one. A network that no aggregate names does not restrict a request: it has no segments and
    reaches all hosts.
    """

    def apply(self, spec: RequestSpec, cluster_metadata: ClusterMetadata) -> None:
        if not self._conf.scheduler.query_placement_for_routed_network_aggregates:
            return
        assert spec.request_level_params is not None
        for network in dict.fromkeys(each["network"] for each in spec.requested_networks):
            segments = [
                each.uuid
                for each in cluster_metadata.aggregates_with(ROUTED_NETWORK)
                if _is_segment(each, network)
            ]
            if segments:
                spec.request_level_params.member_of.append(segments)


def _is_segment(aggregate: Aggregate, network: str) -> bool:
    words = aggregate_metadata.words([aggregate], ROUTED_NETWORK)
    return network in {word.lower() for word in words}
