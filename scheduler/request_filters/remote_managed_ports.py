"""Leave hosts out whose network cards are not managed remotely."""

from __future__ import annotations

import os_traits

from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.facts import Facts
from scheduler.request_filters import demands


class RemoteManagedPorts(request_filters.BaseRequestFilter):
    """Require ``COMPUTE_REMOTE_MANAGED_PORTS`` when a network is asked for that way.

    That is by ``"remote_managed": true`` beside the network's UUID in the request for a server.
    """

    def apply(self, spec: RequestSpec, facts: Facts) -> None:
        if any(network.get("remote_managed") for network in spec.requested_networks):
            demands.require(spec, os_traits.COMPUTE_REMOTE_MANAGED_PORTS)
