"""Filter that allows only one flavor on a host."""

from typing import Any

import numpy as np
from oslo_config import cfg

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.derived_columns import HostClasses
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable

_SEVERAL = "\0"
"""Stands for more than one flavor; no flavor has this id."""


class TypeAffinityFilter(filters.BaseHostFilter):
    """Pass hosts that are empty or run only instances of the requested flavor.

    Flavors are compared by id: a flavor that was deleted and created again with the same id is the
    same. A host's flavors are those in its agent's last report. They do not include instances that
    other requests claimed since then, so two first instances of different flavors that are built at
    the same time may be placed on one host.
    """

    host_attributes = ("instance_flavors",)

    is_host_local = True

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._only_flavors = HostClasses("instance_flavors", _only_flavor)

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
    """Return the flavor of all instances of a host; None if there are none."""
    present = _others(flavors, None)
    return _SEVERAL if len(present) > 1 else next(iter(present), None)


def _others(flavors: Any, flavorid: str | None) -> list[str]:
    """Return the ids of other flavors with instances on a host."""
    if not flavors:
        return []
    return [str(name) for name, count in flavors.items() if count and name != flavorid]
