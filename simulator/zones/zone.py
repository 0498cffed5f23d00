"""One simulated zone: hosts, placement, driver and child zones; only the links are simulated."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext, admin_context
from objects.aggregate import Aggregate
from objects.allocations.fence import FENCE_FINAL, FIRST_FENCE
from objects.request_spec import Destination, RequestSpec
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_query import ZoneQuery
from objects.zones.zone_summary import ZoneSummary
from placement.interface import PlacementAPI
from scheduler.drivers.filter_scheduler import FilterScheduler
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.hosts.store.host_store import HostStore
from scheduler.zones.children import Children
from scheduler.zones.search import ZoneSearch
from scheduler.zones.summariser import Summariser
from simulator.events import Timeline
from simulator.fleet.host_report import attributes_of, batch_of, columns_of, providers_of, uuid_of
from simulator.memory_placement import MemoryPlacement
from simulator.scenario.scenario import HostShape
from simulator.zones.traffic import DirectLinks, Meter
from simulator.zones.tree import ZonePlace


@dataclass(frozen=True, slots=True)
class HostRow:
    """A host of a zone."""

    uuid: str
    name: str
    shape: HostShape


class SimulatedZone:
    """A zone with its hosts in one cell. ``set_children`` registers its children."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        place: ZonePlace,
        hosts: Sequence[HostRow],
        aggregates: Sequence[Aggregate],
        *,
        timeline: Timeline,
        seed: str,
    ) -> None:
        self.place = place
        self._timeline = timeline
        self._cell = uuid_of("cell", place.name)
        self._seq = 0
        self._hosts = {host.uuid: host for host in hosts}
        self._instances: dict[str, list[str]] = {}  # of hosts that have any
        self._changed: set[str] = set()
        self._conf = cast("cfg.ConfigOpts", _NamedConf(conf, place.name))
        self._seed = f"{seed}/{place.name}"
        uuids = {host.name: host.uuid for host in hosts}
        self.placement = MemoryPlacement(
            self._conf,
            providers_of(hosts),
            {each.uuid: [uuids[name] for name in each.hosts] for each in aggregates},
            rng=self._rng("placement"),
        )
        self.host_store = HostStore(self._conf, clock=timeline)
        self.driver = FilterScheduler(
            self._conf,
            host_store=self.host_store,
            placement=cast("PlacementAPI", self.placement),  # as far as a driver uses it
            rng=self._rng("driver"),
            clock=timeline,
            now=timeline.datetime,
        )
        self.children = Children(self._conf, clock=timeline, now=timeline.datetime)
        self._announce(hosts, aggregates)

    def set_children(self, zones: Mapping[str, SimulatedZone], meter: Meter) -> None:
        """Register the zones below this one; call it once, children before parents."""
        self.children.set_known({"name": name, "disabled": False} for name in zones)
        self.search = ZoneSearch(
            self._conf,
            decider=self.driver,
            children=self.children,
            links=DirectLinks(zones, meter),
            rng=self._rng("joining"),
        )
        self._summariser = Summariser(
            self._conf,
            host_store=self.host_store,
            children=self.children,
            filters=[type(each).__name__ for each in self.driver.plugin_filters],
            ask_placement=lambda excluded: self.placement.get_summary(
                admin_context(), excluded=excluded
            ),
            now=self._timeline.datetime,
        )

    def answer(self, context: RequestContext, query: ZoneQuery) -> ZoneAnswer:
        return self.search.answer(context, query)

    def summary(self) -> ZoneSummary:
        return self._summariser.make()

    def place_on(
        self, context: RequestContext, spec: RequestSpec, instance_uuid: str, node_uuid: str
    ) -> bool:
        """Decide again for one host, and claim it; return whether that succeeded."""
        bound = spec.with_values(
            num_instances=1,
            requested_destination=Destination.from_values(node_uuid=node_uuid, own_zone_only=True),
        )
        try:
            self.driver.select_destinations(
                context,
                bound,
                [instance_uuid],
                fences=[int(FIRST_FENCE)],
                return_alternates=False,
                dry_run=False,
            )
        except exception.NoValidHost:
            return False
        self._instances.setdefault(node_uuid, []).append(instance_uuid)
        self._changed.add(node_uuid)
        return True

    def release(self, instance_uuid: str, node_uuid: str) -> None:
        self.placement.release(admin_context(), {instance_uuid: FENCE_FINAL})
        self._instances[node_uuid].remove(instance_uuid)
        self._changed.add(node_uuid)

    def push_hosts(self) -> None:
        """Push changed hosts to the scheduler, as their cell does, with a heartbeat of the cell."""
        changed = [self._hosts[uuid] for uuid in sorted(self._changed)]
        self._changed.clear()
        rows = [
            attributes_of(
                host.shape,
                host.name,
                self.placement.ledger.used(host.uuid),
                self._instances.get(host.uuid, ()),
            )
            for host in changed
        ]
        self._push(changed, columns_of(rows), is_full=False)

    def _announce(self, hosts: Sequence[HostRow], aggregates: Sequence[Aggregate]) -> None:
        self.host_store.set_cluster_metadata(
            ClusterMetadata(
                seq=1,
                cells=[{"uuid": self._cell, "name": self.place.name, "disabled": False}],
                aggregates=list(aggregates),
            )
        )
        of_shape = {id(host.shape): attributes_of(host.shape, "", {}, ()) for host in hosts}
        columns = columns_of([of_shape[id(host.shape)] for host in hosts])
        columns["hypervisor_hostname"] = [host.name for host in hosts]
        self._push(hosts, columns, is_full=True)

    def _push(
        self, hosts: Sequence[HostRow], columns: Mapping[str, list[Any]], *, is_full: bool
    ) -> None:
        self.host_store.apply(batch_of(self._cell, self._seq, hosts, columns, is_full=is_full))
        self._seq += 1

    def _rng(self, user: str) -> random.Random:
        return random.Random(f"{self._seed}/{user}")  # noqa: S311 - a simulation


class _NamedConf:
    """The policy's configuration for a zone of this name; a copy per zone would take megabytes."""

    def __init__(self, conf: cfg.ConfigOpts, name: str) -> None:
        self._conf = conf
        self.zones = _NamedZones(conf, name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._conf, name)


class _NamedZones:
    """``[zones]`` with another name."""

    def __init__(self, conf: cfg.ConfigOpts, name: str) -> None:
        self._conf = conf
        self.name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._conf.zones, name)
