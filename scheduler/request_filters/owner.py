"""Request filter that excludes providers of other services, such as bare metal."""

import os_traits

from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.request_filters import requirements


class Owner(request_filters.BaseRequestFilter):
    """Require ``OWNER_NOVA``, the trait of the providers of compute services and their devices.

    Other services may keep providers in the same placement service; these cannot host servers. The
    trait is required of the root, and of the provider of each PCI device if placement tracks
    devices (``[filter_scheduler] pci_in_placement``). Device providers that were not created by the
    agents need it, too.
    """

    def apply(self, spec: RequestSpec, cluster_metadata: ClusterMetadata) -> None:
        requirements.require(spec, os_traits.OWNER_NOVA)
