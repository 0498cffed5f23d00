"""The zones of a scenario as a tree, and the same hosts as one flat zone."""

from collections.abc import Callable, Sequence

from oslo_config import cfg

from simulator.events import Timeline
from simulator.fleet.host_report import aggregates_of, uuid_of
from simulator.scenario.scenario import HostShape, Scenario, ZoneTree
from simulator.zones.traffic import Meter, Traffic, over_the_wire
from simulator.zones.tree import ZonePlace, has_hosts, is_in, root_of
from simulator.zones.zone import HostRow, SimulatedZone

_FLAT = "flat"

Told = Callable[[int], None]
"""Called with the number of hosts created so far."""


class SimulatedTree:
    """All zones of a scenario."""

    def __init__(
        self, scenario: Scenario, tree: ZoneTree, conf: cfg.ConfigOpts, timeline: Timeline,
        told: Told,
    ) -> None:  # fmt: skip
        self.meter = Meter()
        self.zones: dict[tuple[str, ...], SimulatedZone] = {}
        self._in_order: list[SimulatedZone] = []
        count = 0
        for place in root_of(tree).all():
            hosts = _hosts(tree, place, scenario.shapes)
            zone = _zone(scenario, conf, timeline, place, hosts)
            zone.set_children(
                {child.name: self.zones[child.path] for child in place.children}, self.meter
            )
            self.zones[place.path] = zone
            self._in_order.append(zone)
            count += len(hosts)
            told(count)

    @property
    def root(self) -> SimulatedZone:
        return self._in_order[-1]

    def push_hosts(self) -> None:
        for zone in self._in_order:
            zone.push_hosts()

    def push_summaries(self) -> Traffic:
        """Push each zone's summary to its parent, lowest zones first; return the traffic."""
        traffic = Traffic()
        for zone in self._in_order:
            for child in zone.place.children:
                summary = self.zones[child.path].summary()
                zone.children.take(child.name, over_the_wire(summary, traffic))
        return traffic


def flat_zone(
    scenario: Scenario, tree: ZoneTree, conf: cfg.ConfigOpts, timeline: Timeline
) -> SimulatedZone:
    """Return one zone that has all hosts of the tree."""
    hosts = [host for place in root_of(tree).all() for host in _hosts(tree, place, scenario.shapes)]
    zone = _zone(scenario, conf, timeline, ZonePlace(_FLAT, ()), hosts)
    zone.set_children({}, Meter())
    return zone


def _zone(
    scenario: Scenario,
    conf: cfg.ConfigOpts,
    timeline: Timeline,
    place: ZonePlace,
    hosts: Sequence[HostRow],
) -> SimulatedZone:
    return SimulatedZone(
        conf,
        place,
        hosts,
        [each for each in aggregates_of(hosts, scenario.aggregates) if each.hosts],
        timeline=timeline,
        seed=f"{scenario.seed}",
    )


def _hosts(tree: ZoneTree, place: ZonePlace, shapes: Sequence[HostShape]) -> list[HostRow]:
    if not has_hosts(tree, place):
        return []
    return [
        HostRow(uuid_of("host", full := f"{place.name}-{name}"), full, shape)
        for shape in shapes
        if is_in(shape, place)
        for name in shape.names
    ]
