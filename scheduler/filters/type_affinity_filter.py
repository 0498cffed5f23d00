"""Keep a host to one flavor."""

from __future__ import annotations

from typing import Any

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.host_state import HostState
from scheduler.host_table import HostTable


class TypeAffinityFilter(filters.BaseHostFilter):
    """Pass hosts that are empty, or run instances of the requested flavor only.

    Flavors are told apart by their id: one that was deleted and made anew under the same id is the
    same. A host's flavors are those that its agent reported last. Instances that other requests
    claimed a moment ago are not among them, so two first instances of different flavors that start
    at the same time may meet on a host.
    """

    judges_apart = True

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return not _others(host_state.instance_flavors, spec.flavor.flavorid)

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        flavorid = spec.flavor.flavorid
        return filters.per_distinct(
            hosts.instance_flavors, lambda flavors: not _others(flavors, flavorid)
        )

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        others = _others(host_state.instance_flavors, spec.flavor.flavorid)
        return f"runs instances of the flavor {min(others)}"


def _others(flavors: Any, flavorid: str) -> list[str]:
    """Return the ids of other flavors that a host has instances of."""
    if not flavors:
        return []
    return [str(name) for name, count in flavors.items() if count and name != flavorid]
