"""Common base of CoreFilter and AggregateCoreFilter, which pass hosts that report no vCPUs."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from oslo_config import cfg

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.filters.resource_amounts import Cores, WithinRatio
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable

LOG = logging.getLogger(__name__)

_WARNED_MAX = 1000


class CoresWithinRatio(WithinRatio):
    """Base of both filters. A host that reports no vCPUs passes, without a limit.

    Each such host is logged once.
    """

    host_attributes = ("host", *Cores.columns, Cores.ratio)

    resource = Cores()

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._warned: set[str] = set()

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        if not host_state.vcpus_total:
            self._warn(host_state.host)
            return True
        return super().host_passes(host_state, spec)

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        is_unknown = hosts.vcpus_total == 0
        for position in np.flatnonzero(is_unknown)[:_WARNED_MAX].tolist():
            self._warn(hosts.value("host", position))
        mask: filters.Mask = super().host_mask(hosts, spec) | is_unknown
        return mask

    def limits(self, host_state: HostState, spec: RequestSpec) -> dict[str, Any]:
        return super().limits(host_state, spec) if host_state.vcpus_total else {}

    def _warn(self, host: str) -> None:
        if host not in self._warned and len(self._warned) < _WARNED_MAX:
            self._warned.add(host)
            LOG.warning("%s reports no vCPUs; %s passes it", host, type(self).__name__)
