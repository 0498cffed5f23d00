"""Leave providers out that belong to somebody else, such as a service for bare metal."""

from __future__ import annotations

import os_traits

from armillary import service_history
from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.facts import Facts
from scheduler.request_filters import demands


class Owner(request_filters.BaseRequestFilter):
    """Require ``OWNER_NOVA``, which the providers of compute services and of their devices have.

    Other services may keep providers in the same placement; those are no hosts for servers. The
    trait is asked of the root, and of the provider of each PCI device where placement counts these
    (``[filter_scheduler] pci_in_placement``): providers of devices that somebody else than the
    agents makes need it, too. It is required as soon as all compute services of all cells are of a
    version that reports it; the service of a host that is gone for good has to be deleted for that.
    """

    def apply(self, spec: RequestSpec, facts: Facts) -> None:
        if facts.service_version_min >= service_history.REPORTS_OWNER:
            demands.require(spec, os_traits.OWNER_NOVA)
