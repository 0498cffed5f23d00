"""Keep a project on the hosts that are set aside for it."""

from __future__ import annotations

from armillary import exception
from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.facts import Facts

KEY = "filter_tenant_id"


class Tenant(request_filters.BaseRequestFilter):
    """Ask for a provider in one of the aggregates that are set aside for the project.

    Works when ``[scheduler] limit_tenants_to_placement_aggregate`` is set. An aggregate is set
    aside for a project by its id as the value of a metadata key that begins with
    ``filter_tenant_id``; for several projects, use several keys (``filter_tenant_id2``, ...). A
    project without such an aggregate may go anywhere, or nowhere when
    ``placement_aggregate_required_for_tenants`` is set. Other projects are not kept off these
    hosts.
    """

    def apply(self, spec: RequestSpec, facts: Facts) -> None:
        if not self._conf.scheduler.limit_tenants_to_placement_aggregate:
            return
        assert spec.request_level_params is not None
        aggregates = [
            each.uuid
            for each in facts.aggregates
            if any(
                key.startswith(KEY) and value == spec.project_id
                for key, value in each.metadata.items()
            )
        ]
        if aggregates:
            spec.request_level_params.member_of.append(aggregates)
        elif self._conf.scheduler.placement_aggregate_required_for_tenants:
            raise exception.RequestFilterFailed(
                reason=f"no aggregate is set aside for project {spec.project_id}"
            )
