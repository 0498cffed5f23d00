"""Reserve aggregates for projects."""

from __future__ import annotations

from collections.abc import Iterable

from objects.aggregate import Aggregate
from objects.request_spec import RequestSpec
from scheduler import aggregate_metadata, filters
from scheduler.host_state import HostState
from scheduler.host_table import HostTable

KEY_PREFIX = "filter_tenant_id"


class AggregateMultiTenancyIsolation(filters.BaseHostFilter):
    """Pass hosts that are kept for nobody, or for the project that asks.

    Every metadata key of the host's aggregates that begins with ``filter_tenant_id`` names
    projects, with commas between them. This keeps others out; it does not keep the project in: for
    that there is the request filter of the same metadata.
    """

    run_filter_once_per_request = True
    reason_columns = ()

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return _passes(host_state.aggregates, spec)

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        relevant = [each for each in hosts.facts.aggregates if _keys(each)]
        return aggregate_metadata.per_membership(
            hosts, relevant, lambda found: _passes(found, spec)
        )

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        return "is kept for other projects"


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
