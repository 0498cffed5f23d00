"""Leave hosts out that know no packed rings."""

from __future__ import annotations

import os_traits

from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.facts import Facts
from scheduler.request_filters import demands


class PackedVirtqueue(request_filters.BaseRequestFilter):
    """Require ``COMPUTE_NET_VIRTIO_PACKED`` when packed rings are asked for.

    That is by the flavor's ``hw:virtio_packed_ring`` or the image's ``hw_virtio_packed_ring``.
    """

    def apply(self, spec: RequestSpec, facts: Facts) -> None:
        if demands.is_demanded(spec, "hw:virtio_packed_ring", "hw_virtio_packed_ring"):
            demands.require(spec, os_traits.COMPUTE_NET_VIRTIO_PACKED)
