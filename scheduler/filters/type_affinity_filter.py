"""Keep a host to one flavor."""

from __future__ import annotations

from typing import Any

import numpy as np
from oslo_config import cfg

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.derived_columns import Kinds
from scheduler.host_state import HostState
from scheduler.host_table import HostTable

_SEVERAL = "\0"
"""Stands for more than one flavor; no flavor has such an id."""


class TypeAffinityFilter(filters.BaseHostFilter):
    """Pass hosts that are empty, or run instances of the requested flavor only.

    Flavors are told apart by their id: one that was deleted and made anew under the same id is the
    same. A host's flavors are those that its agent reported last. Instances that other requests
    claimed a moment ago are not among them, so two first instances of different flavors that start
    at the same time may meet on a host.
    """

    host_attributes = ("instance_flavors",)

    judges_apart = True

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._only_flavors = Kinds("instance_flavors", _only_flavor)

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return not _others(host_state.instance_flavors, spec.flavor.flavorid)

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        found, numbers = self._only_flavors.read(hosts)
        passing = [numbers[kind] for kind in (None, spec.flavor.flavorid) if kind in numbers]
        mask: filters.Mask = np.isin(found, passing)
        return mask

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        others = _others(host_state.instance_flavors, spec.flavor.flavorid)
        return f"runs instances of the flavor {min(others)}"


def _only_flavor(flavors: Any) -> str | None:
    """Return the flavor of all instances of a host; None when there are none."""
    present = _others(flavors, None)
    return _SEVERAL if len(present) > 1 else next(iter(present), None)


def _others(flavors: Any, flavorid: str | None) -> list[str]:
    """Return the ids of other flavors that a host has instances of."""
    if not flavors:
        return []
    return [str(name) for name, count in flavors.items() if count and name != flavorid]
