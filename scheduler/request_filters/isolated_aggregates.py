"""Request filter that reserves aggregates for requests with certain traits.

It does what taints and tolerations do in Kubernetes.
"""

from objects.aggregate import Aggregate
from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.request.resource_query import traits_of


class IsolatedAggregates(request_filters.BaseRequestFilter):
    """Forbid aggregates that require traits which the request does not ask for.

    Enabled by ``[scheduler] enable_isolated_aggregate_filtering``. An aggregate requires a trait by
    the metadata ``trait:NAME`` = ``required``. A request asks for traits in its flavor and image.
    It must ask for all traits that an aggregate requires.
    """

    def apply(self, spec: RequestSpec, cluster_metadata: ClusterMetadata) -> None:
        if not self._conf.scheduler.enable_isolated_aggregate_filtering:
            return
        assert spec.request_level_params is not None
        asked, _forbidden = traits_of(spec)
        for aggregate in cluster_metadata.aggregates:
            if _required(aggregate) - asked:
                spec.request_level_params.forbidden_aggregates.append(aggregate.uuid)


def _required(aggregate: Aggregate) -> set[str]:
    return {
        name
        for key, value in aggregate.metadata.items()
        for scope, _colon, name in [key.partition(":")]
        if scope == "trait" and name and value == "required"
    }
