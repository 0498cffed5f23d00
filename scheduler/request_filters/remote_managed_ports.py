"""Request filter for remotely managed ports."""

import os_traits

from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.request_filters import requirements


class RemoteManagedPorts(request_filters.BaseRequestFilter):
    """Require ``COMPUTE_REMOTE_MANAGED_PORTS`` if a requested network is remotely managed.

    The request sets ``"remote_managed": true`` beside the network's UUID.
    """

    def apply(self, spec: RequestSpec, cluster_metadata: ClusterMetadata) -> None:
        if any(network.get("remote_managed") for network in spec.requested_networks):
            requirements.require(spec, os_traits.COMPUTE_REMOTE_MANAGED_PORTS)
