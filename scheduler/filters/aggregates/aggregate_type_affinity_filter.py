"""Filter that reserves aggregates for flavors, by flavor name."""

from collections.abc import Iterable

from objects.aggregate import Aggregate
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts import aggregate_metadata
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable

KEY = "instance_type"


class AggregateTypeAffinityFilter(filters.BaseHostFilter):
    """Pass hosts whose aggregate metadata ``instance_type`` names the flavor.

    The value is a flavor name or a comma-separated list of them. A host without such metadata
    passes.
    """

    run_filter_once_per_request = True
    reason_columns = ()

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        return aggregate_metadata.per_membership(
            hosts, hosts.cluster_metadata.aggregates_with(KEY), lambda found: _passes(found, spec)
        )

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        return f"is reserved for flavors other than {spec.flavor.name}"


def _passes(aggregates: Iterable[Aggregate], spec: RequestSpec) -> bool:
    names = aggregate_metadata.words(aggregates, KEY)
    return not names or spec.flavor.name in names
