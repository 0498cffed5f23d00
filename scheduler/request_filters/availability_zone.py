"""Request filter for the availability zone."""

from armillary import exception
from objects.aggregate import AVAILABILITY_ZONE_KEY
from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.hosts import aggregate_metadata
from scheduler.hosts.cluster_metadata import ClusterMetadata


class AvailabilityZone(request_filters.BaseRequestFilter):
    """Require a provider in an aggregate whose ``availability_zone`` names the requested zone.

    ``[DEFAULT] default_availability_zone``, the zone of hosts without another one, does not
    restrict a request: hosts of all zones remain. Enable AvailabilityZoneFilter to restrict such a
    request to hosts of the default zone. A request for any other zone that no aggregate names
    fails.
    """

    def apply(self, spec: RequestSpec, cluster_metadata: ClusterMetadata) -> None:
        zone = spec.availability_zone
        if not zone or zone == self._conf.default_availability_zone:
            return
        assert spec.request_level_params is not None
        aggregates = [
            each.uuid
            for each in cluster_metadata.aggregates_with(AVAILABILITY_ZONE_KEY)
            if zone in aggregate_metadata.zones([each])
        ]
        if not aggregates:
            raise exception.RequestFilterFailed(
                reason=f"no aggregate belongs to availability zone {zone}"
            )
        spec.request_level_params.member_of.append(aggregates)
