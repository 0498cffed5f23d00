"""Request filter for packed virtqueues."""

import os_traits

from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.request_filters import requirements


class PackedVirtqueue(request_filters.BaseRequestFilter):
    """Require ``COMPUTE_NET_VIRTIO_PACKED`` if packed virtqueues are requested.

    The request comes from the flavor's ``hw:virtio_packed_ring`` or the image's
    ``hw_virtio_packed_ring``.
    """

    def apply(self, spec: RequestSpec, cluster_metadata: ClusterMetadata) -> None:
        if requirements.is_demanded(spec, "hw:virtio_packed_ring", "hw_virtio_packed_ring"):
            requirements.require(spec, os_traits.COMPUTE_NET_VIRTIO_PACKED)
