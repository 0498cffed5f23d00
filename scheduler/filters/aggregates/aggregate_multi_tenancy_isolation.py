"""Filter that reserves aggregates for projects."""

from collections.abc import Iterable

from objects.aggregate import Aggregate
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts import aggregate_metadata
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable

KEY_PREFIX = "filter_tenant_id"


class AggregateMultiTenancyIsolation(filters.BaseHostFilter):
    """Pass hosts that are not reserved, or that are reserved for the requesting project.

    Every metadata key of the host's aggregates that begins with ``filter_tenant_id`` holds a
    comma-separated list of projects. This keeps other projects off these hosts; it does not confine
    the project to them. The request filter ``tenant``, which reads the same metadata, does that.
    """

    run_filter_once_per_request = True
    reason_columns = ()

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        relevant = [each for each in hosts.cluster_metadata.aggregates if _keys(each)]
        return aggregate_metadata.per_membership(
            hosts, relevant, lambda found: _passes(found, spec)
        )

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        return "is reserved for other projects"


def _keys(aggregate: Aggregate) -> list[str]:
    return [key for key in aggregate.metadata if key.startswith(KEY_PREFIX)]


def _passes(aggregates: Iterable[Aggregate], spec: RequestSpec) -> bool:
    projects = {
        word
        for aggregate in aggregates
        for key in _keys(aggregate)
        for word in aggregate_metadata.words([aggregate], key)
    }
    return not projects or spec.project_id in projects
