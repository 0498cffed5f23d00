"""Keep a request in the availability zone that it asks for."""

from __future__ import annotations

from armillary import exception
from objects.aggregate import AVAILABILITY_ZONE_KEY
from objects.request_spec import RequestSpec
from scheduler import aggregate_metadata, request_filters
from scheduler.facts import Facts


class AvailabilityZone(request_filters.BaseRequestFilter):
    """Ask for a provider in an aggregate that names the zone as its ``availability_zone``.

    ``[DEFAULT] default_availability_zone``, the zone of hosts that no aggregate puts into another
    one, is no restriction: hosts of all zones remain. Enable AvailabilityZoneFilter to keep such a
    request strictly to the hosts of the default zone. Any other zone that no aggregate names fails
    the request.
    """

    def apply(self, spec: RequestSpec, facts: Facts) -> None:
        zone = spec.availability_zone
        if not zone or zone == self._conf.default_availability_zone:
            return
        assert spec.request_level_params is not None
        aggregates = [
            each.uuid
            for each in facts.aggregates_with(AVAILABILITY_ZONE_KEY)
            if zone in aggregate_metadata.words([each], AVAILABILITY_ZONE_KEY)
        ]
        if not aggregates:
            raise exception.RequestFilterFailed(
                reason=f"no aggregate names the availability zone {zone}"
            )
        spec.request_level_params.member_of.append(aggregates)
