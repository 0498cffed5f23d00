"""Keep a request where the segments of its networks are."""

from __future__ import annotations

from objects.aggregate import Aggregate
from objects.aggregate_metadata import ROUTED_NETWORK
from objects.request_spec import RequestSpec
from scheduler import aggregate_metadata, request_filters
from scheduler.facts import Facts


class RoutedNetworks(request_filters.BaseRequestFilter):
    """Ask for a provider on a segment of each network that the request names.

    Works when ``[scheduler] query_placement_for_routed_network_aggregates`` is set. A segment of a
    routed network is an aggregate whose metadata ``routed_network`` is the network's UUID, or lists
    it among others with commas. One segment of a network suffices; of several networks each has to
    be there. A network that no aggregate names is no restriction: it has no segments, and reaches
    all hosts.
    """

    def apply(self, spec: RequestSpec, facts: Facts) -> None:
        if not self._conf.scheduler.query_placement_for_routed_network_aggregates:
            return
        assert spec.request_level_params is not None
        for network in dict.fromkeys(each["network"] for each in spec.requested_networks):
            segments = [
                each.uuid
                for each in facts.aggregates_with(ROUTED_NETWORK)
                if _is_segment(each, network)
            ]
            if segments:
                spec.request_level_params.member_of.append(segments)


def _is_segment(aggregate: Aggregate, network: str) -> bool:
    words = aggregate_metadata.words([aggregate], ROUTED_NETWORK)
    return network in {word.lower() for word in words}
