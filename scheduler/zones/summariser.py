"""Creation of zone summaries from own hosts, placement and the children that are online."""

import logging
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from oslo_config import cfg

from armillary.logs.outage_log import OutageLog
from objects.zones.zone_summary import ProviderCapabilities, ZoneSummary
from scheduler.hosts.host_table import HostTable
from scheduler.hosts.store.host_store import HostStore
from scheduler.zones import capabilities, zone_counts
from scheduler.zones.capabilities import Capabilities
from scheduler.zones.children import Child, Children
from scheduler.zones.zone_counts import ZoneCounts

LOG = logging.getLogger(__name__)

_UP_AND_ENABLED = "ComputeFilter"
_DEPTH_MAX = 32

AskPlacement = Callable[[Sequence[str]], ProviderCapabilities]
"""Takes the providers to exclude; returns the response of ``PlacementAPI.get_summary``."""


class Summariser:
    """Creates the summaries of one process. Thread-safe.

    Hosts that are down or disabled are included in ``counts``, but not in the capabilities if
    ``ComputeFilter`` is enabled. ``ask_placement`` is None for a driver that does not claim in
    placement. While placement is unavailable, resources and traits are omitted, and rule out
    nothing.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        host_store: HostStore,
        children: Children,
        filters: Sequence[str],
        ask_placement: AskPlacement | None,
        now: Callable[[], datetime],
    ) -> None:
        self._conf = conf
        self._host_store = host_store
        self._children = children
        self._filters = sorted(filters)
        self._ask_placement = ask_placement
        self._now = now
        self._sender = f"{conf.host}-{uuid.uuid4().hex[:12]}"
        self._seq = 0
        self._outage = OutageLog(LOG, "Placement, needed for the zone summary,")
        self._cycle = OutageLog(LOG, "A tree of zones")

    def make(self) -> ZoneSummary:
        """Return the current summary; its sequence number always increases."""
        online, name = self._children.online(), self._conf.zones.name
        in_cycle = [child for child in online if name in child.zone_names]
        self._warn_of(in_cycle)
        own, counts = self._own()
        below = [child for child in online if child not in in_cycle]
        summaries = [child.summary for child in below if child.summary is not None]
        figures = [_figures(child) for child in below if child.summary is not None]
        each = zone_counts.merge(name, zone_counts.row_of(counts, own), figures)
        total = zone_counts.totals(each)
        merged = capabilities.merged(own, _parts(online, in_cycle))
        known = [own, *(child.capabilities for child in online if child.capabilities)]
        self._seq = max(self._seq + 1, int(time.time() * 1000))  # increases across restarts, too
        return ZoneSummary.from_values(
            zone=name,
            sender=self._sender,
            seq=self._seq,
            sent_at=self._now(),
            push_seconds=self._conf.zones.push_seconds,
            depth=1 + min(max((each.depth for each in summaries), default=0), _DEPTH_MAX),
            capabilities=zone_counts.with_sums(merged, total, known).to_plain(),
            counts={
                **{key: int(total[key]) for key in zone_counts.COUNTS},
                "own_hosts": counts["own_hosts"],
                "each": zone_counts.to_plain(each),
            },
            zones=self._zones(),
        )

    def _own(self) -> tuple[Capabilities, dict[str, int]]:
        hosts = self._host_store.view_all()
        is_fit = hosts.service_up & ~hosts.service_disabled & hosts.cell_enabled
        counted, left_out = hosts, []
        if _UP_AND_ENABLED in self._filters:
            counted = hosts.take(np.flatnonzero(is_fit))
            left_out = [hosts.value("uuid", each) for each in np.flatnonzero(~is_fit).tolist()]
        resources, traits = self._of_placement(left_out)
        made = Capabilities(
            attributes=capabilities.attributes_of(counted),
            hosts=len(counted),
            filters=self._filters,
            profiles=[self._conf.zones.weighing_profile],
            resources=resources,
            traits=traits,
        )
        return made, _counts(hosts)

    def _of_placement(
        self, left_out: Sequence[str]
    ) -> tuple[dict[str, float] | None, list[str] | None]:
        """Return resources and traits; None if they are unknown."""
        if self._ask_placement is None:
            return None, None
        try:
            found = self._ask_placement(left_out)
            resources: dict[str, float] = {**found.resources}
            traits = sorted(found.traits)
        except Exception as error:
            self._outage.failed(error)
            return None, None
        self._outage.succeeded()
        return resources, traits

    def _zones(self) -> list[dict[str, object]]:
        """Return the zones below with their states, without repeating zones above them."""
        above = {self._conf.zones.name}
        return [
            {
                "name": child.name,
                "state": self._children.state_of(child).value,
                "zones": _nested(child.summary.zones if child.summary else [], above, 1),
            }
            for child in self._children.all()
        ]

    def _warn_of(self, in_cycle: Sequence[Child]) -> None:
        if in_cycle:
            names = ", ".join(child.name for child in in_cycle)
            self._cycle.failed(f"zone {self._conf.zones.name} is below its own child {names}")
        else:
            self._cycle.succeeded()


def _parts(
    online: Iterable[Child], in_cycle: Sequence[Child]
) -> Iterable[tuple[Capabilities, bool]]:
    for child in online:
        if child.capabilities is not None:
            yield child.capabilities, child not in in_cycle


def _figures(child: Child) -> ZoneCounts:
    """Return a child's counts by zone; without them its totals count as its own."""
    assert child.summary is not None
    assert child.capabilities is not None
    by_zone: ZoneCounts | None = child.summary.counts["each"]
    if by_zone is None:
        return {child.summary.zone: zone_counts.row_of(child.summary.counts, child.capabilities)}
    return by_zone


def _counts(hosts: HostTable) -> dict[str, int]:
    return {
        "hosts": len(hosts),
        "hosts_up": int(np.count_nonzero(hosts.service_up)),
        "hosts_disabled": int(np.count_nonzero(hosts.service_disabled)),
        "zones": 1,
        "own_hosts": len(hosts),
    }


def _nested(zones: Any, above: set[str], depth: int) -> list[dict[str, object]]:
    if depth > _DEPTH_MAX or not isinstance(zones, list):
        return []
    return [
        {
            "name": zone["name"],
            "state": str(zone.get("state")),
            "zones": _nested(zone.get("zones"), above | {zone["name"]}, depth + 1),
        }
        for zone in zones
        if isinstance(zone, Mapping)
        and isinstance(zone.get("name"), str)
        and zone["name"] not in above
    ]
