"""Request filter that keeps a project on the hosts reserved for it."""

from armillary import exception
from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.hosts.cluster_metadata import ClusterMetadata

KEY = "filter_tenant_id"


class Tenant(request_filters.BaseRequestFilter):
    """Require a provider in one of the aggregates that are reserved for the project.

    Enabled by ``[scheduler] limit_tenants_to_placement_aggregate``. An aggregate is reserved for a
    project if the project's id is the value of a metadata key that begins with
    ``filter_tenant_id``; for several projects, use several keys (``filter_tenant_id2``, ...). A
    project without such an aggregate may use any host, or no host if
    ``placement_aggregate_required_for_tenants`` is set. Other projects are not kept off these
    hosts.
    """

    def apply(self, spec: RequestSpec, cluster_metadata: ClusterMetadata) -> None:
        if not self._conf.scheduler.limit_tenants_to_placement_aggregate:
            return
        assert spec.request_level_params is not None
        aggregates = [
            each.uuid
            for each in cluster_metadata.aggregates
            if any(
                key.startswith(KEY) and value == spec.project_id
                for key, value in each.metadata.items()
            )
        ]
        if aggregates:
            spec.request_level_params.member_of.append(aggregates)
        elif self._conf.scheduler.placement_aggregate_required_for_tenants:
            raise exception.RequestFilterFailed(
                reason=f"no aggregate is reserved for project {spec.project_id}"
            )
