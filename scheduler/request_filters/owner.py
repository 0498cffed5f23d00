"""Request filter that excludes providers of other services, such as bare metal."""

from __future__ import annotations

import os_traits

from armillary import service_history
from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.request_filters import requirements


class Owner(request_filters.BaseRequestFilter):
    """Require ``OWNER_NOVA``, the trait of the providers of compute services and their devices.

    Other services may keep providers in the same placement service; these cannot host servers. The
    trait is required of the root, and of the provider of each PCI device if placement tracks
    devices (``[filter_scheduler] pci_in_placement``). Device providers that were not created by the
    agents need it, too. The trait is required once the compute services of all cells have a version
    that reports it. Delete the service of a host that is permanently gone, or the requirement never
    takes effect.
    """

    def apply(self, spec: RequestSpec, facts: ClusterMetadata) -> None:
        if facts.service_version_min >= service_history.REPORTS_OWNER:
            requirements.require(spec, os_traits.OWNER_NOVA)
