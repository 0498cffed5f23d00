"""Go only to hosts that an attestation service trusts."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import numpy as np
from oslo_config import cfg

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.attestation import Attestations
from scheduler.host_state import HostState
from scheduler.host_table import HostTable

KEY = "trust:trusted_host"


class Levels(Protocol):
    """What knows the levels of nodes."""

    def levels(self, nodes: Collection[str]) -> dict[str, str]:
        """Return the level of each node."""


class TrustedFilter(filters.BaseHostFilter):
    """Pass hosts whose attested level is the one that the flavor asks for.

    The extra spec ``trust:trusted_host`` names the level: ``trusted``, ``untrusted`` or
    ``unknown``; without it all hosts pass. The level of a host is what the service of
    ``[trusted_computing]`` says of its node; ``unknown`` when it says nothing, does not answer or
    is not set up.

    Filters do no network, and neither does this one: it reads levels that are kept for
    ``attestation_auth_timeout`` seconds, and which workers beside it ask for. Only for nodes whose
    level is not known yet does a decision wait, ``attestation_wait_seconds`` at most; then they are
    unknown.
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
        return f"its attested level is {self._level(host_state)}, {asked} is asked"

    def _level(self, host_state: HostState) -> str:
        name: str = host_state.nodename
        return self._attestations.levels([name])[name]
