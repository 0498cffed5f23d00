"""Request filter that excludes disabled hosts."""

import os_traits

from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.hosts.cluster_metadata import ClusterMetadata


class DisabledHosts(request_filters.BaseRequestFilter):
    """Forbid the trait ``COMPUTE_STATUS_DISABLED``, which providers of disabled services have.

    This also applies to forced hosts, which skip all filters.
    """

    def apply(self, spec: RequestSpec, cluster_metadata: ClusterMetadata) -> None:
        assert spec.request_level_params is not None
        spec.request_level_params.root_forbidden.append(os_traits.COMPUTE_STATUS_DISABLED)
