"""Filter by availability zone."""

import numpy as np

from objects.aggregate import AVAILABILITY_ZONE_KEY
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts import aggregate_metadata
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class AvailabilityZoneFilter(filters.BaseHostFilter):
    """Pass hosts in the requested availability zone; pass all hosts if none is requested.

    A host's zones are the ``availability_zone`` metadata of its aggregates. A host without one is
    in ``[DEFAULT] default_availability_zone``. The request filter ``availability_zone`` lets
    placement check the same at a lower cost. This filter also keeps a request for the default zone
    out of the other zones.
    """

    run_filter_once_per_request = True
    reason_columns = ()

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        mask = np.ones(len(hosts), dtype=np.bool_)
        if not spec.availability_zone:
            return mask
        has_zone = np.zeros(len(hosts), dtype=np.bool_)
        mask[:] = False
        for aggregate in hosts.cluster_metadata.aggregates_with(AVAILABILITY_ZONE_KEY):
            inside = hosts.in_aggregate(aggregate)
            has_zone |= inside
            if spec.availability_zone in aggregate_metadata.zones([aggregate]):
                mask |= inside
        if spec.availability_zone == self._default:
            mask |= ~has_zone
        return mask

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        return f"is not in availability zone {spec.availability_zone}"

    @property
    def _default(self) -> str:
        zone: str = self._conf.default_availability_zone
        return zone
