"""Filter by the trust level that an attestation service reports."""

from collections.abc import Collection
from typing import Protocol

import numpy as np
from oslo_config import cfg

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.attestation_cache import Attestations
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable

KEY = "trust:trusted_host"


class Levels(Protocol):
    """Source of the attested levels of nodes."""

    def levels(self, nodes: Collection[str]) -> dict[str, str]:
        """Return the level of each node."""


class TrustedFilter(filters.BaseHostFilter):
    """Pass hosts whose attested level is the one that the flavor requires.

    The extra spec ``trust:trusted_host`` names the level: ``trusted``, ``untrusted`` or
    ``unknown``. Without it all hosts pass. A host's level is what the attestation service of
    ``[trusted_computing]`` reports for its node. It is ``unknown`` if the service is not
    configured, does not answer or does not report the node.

    Filters do not use the network. This one reads levels from a cache, which background workers
    fill and which keeps them for ``attestation_auth_timeout`` seconds. A decision waits only for
    nodes without a cached level, at most ``attestation_wait_seconds``; after that their level is
    ``unknown``.
    """

    host_attributes = ("nodename",)

    run_filter_once_per_request = True

    def __init__(self, conf: cfg.ConfigOpts, *, attestations: Levels | None = None) -> None:
        super().__init__(conf)
        self._attestations = attestations or Attestations(conf)

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        wanted = spec.flavor.extra_specs.get(KEY)
        return wanted is None or self._level(host_state) == wanted

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        wanted = spec.flavor.extra_specs.get(KEY)
        if wanted is None:
            return np.ones(len(hosts), dtype=np.bool_)
        levels = self._attestations.levels(set(hosts.nodename))
        return np.fromiter((levels[name] == wanted for name in hosts.nodename), np.bool_)

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        asked = spec.flavor.extra_specs.get(KEY)
        return f"its attested level is {self._level(host_state)}, requested {asked}"

    def _level(self, host_state: HostState) -> str:
        name: str = host_state.nodename
        return self._attestations.levels([name])[name]
