"""The scheduler and placement of a simulation, in this process, and the updates they receive."""

import random
from collections.abc import Sequence
from typing import cast

from oslo_config import cfg

from armillary.context import RequestContext
from objects.allocations.fence import FIRST_FENCE
from objects.destinations import Destinations
from objects.hosts.host_states import HostStateBatch
from objects.request_spec import RequestSpec
from placement.interface import PlacementAPI
from scheduler.drivers.base import SchedulerDriver, load_driver
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.hosts.store.host_store import HostStore
from simulator.events import Timeline
from simulator.fleet.host_report import aggregates_of, batch_of, providers_of, uuid_of
from simulator.fleet.host_states import HostStates
from simulator.memory_placement import MemoryPlacement
from simulator.scenario.scenario import Scenario

LIFE_SIGN_SECONDS = 5.0


class SimulatedServices:
    """The real driver and the real placement rules; only clocks and random sources differ."""

    def __init__(
        self,
        scenario: Scenario,
        book: HostStates,
        timeline: Timeline,
        *,
        placement: MemoryPlacement,
        host_store: HostStore,
        driver: SchedulerDriver,
    ) -> None:
        self.placement = placement
        self._book = book
        self._timeline = timeline
        self._host_store = host_store
        self._driver = driver
        self._seqs = dict.fromkeys(sorted({shape.cell for shape in scenario.shapes}), 0)
        self._heard_at = 0.0
        self._announce(scenario)

    def decide(
        self, context: RequestContext, spec: RequestSpec, instance_uuids: Sequence[str]
    ) -> Destinations:
        """Select and claim hosts. Raises what ``SchedulerAPI`` documents."""
        return self._driver.select_destinations(
            context,
            spec,
            instance_uuids,
            fences=[int(FIRST_FENCE)] * len(instance_uuids),
            return_alternates=True,
            dry_run=False,
        )

    def refresh(self) -> None:
        """Refresh the driver's hosts, as its service does periodically."""
        self._driver.refresh()

    def push(self) -> None:
        """Push all changed hosts to the scheduler, as their cells would."""
        changed: dict[str, list[int]] = {}
        for row, host in self._book.changed.items():
            changed.setdefault(host.shape.cell, []).append(row)
        for cell in sorted(changed):
            self._push(cell, changed[cell])
        self._book.changed.clear()

    def send_heartbeats(self) -> None:
        """Send heartbeats of the cells if the last ones are old: cells are never silent."""
        if self._timeline.now - self._heard_at < LIFE_SIGN_SECONDS:
            return
        for cell, seq in self._seqs.items():
            self._host_store.apply(
                HostStateBatch.from_values(
                    cell_uuid=uuid_of("cell", cell), first_seq=seq, last_seq=seq
                )
            )
        self._heard_at = self._timeline.now

    def _push(self, cell: str, rows: Sequence[int]) -> None:
        hosts = [self._book.hosts[row] for row in sorted(rows)]
        seq = self._seqs[cell]
        self._seqs[cell] = seq + 1
        columns = self._book.columns(hosts)
        self._host_store.apply(
            batch_of(uuid_of("cell", cell), seq, hosts, columns, is_full=seq == 0)
        )

    def _announce(self, scenario: Scenario) -> None:
        self._host_store.set_cluster_metadata(
            ClusterMetadata(
                seq=1,
                cells=[
                    {"uuid": uuid_of("cell", cell), "name": cell, "disabled": False}
                    for cell in self._seqs
                ],
                aggregates=aggregates_of(self._book.hosts, scenario.aggregates),
            )
        )
        self.push()


def make_simulated_services(
    scenario: Scenario, conf: cfg.ConfigOpts, *, book: HostStates, timeline: Timeline
) -> SimulatedServices:
    """Return a world for a scenario. Raises ``PluginNotFound``, ``ConfigurationError``."""
    placement = MemoryPlacement(
        conf,
        providers_of(book.hosts),
        {
            aggregate.uuid: [uuid_of("host", name) for name in aggregate.hosts]
            for aggregate in aggregates_of(book.hosts, scenario.aggregates)
        },
        rng=_rng(scenario, "placement"),
    )
    host_store = HostStore(conf, clock=timeline)
    driver = load_driver(
        conf,
        host_store=host_store,
        placement=cast("PlacementAPI", placement),  # as far as a driver uses it
        rng=_rng(scenario, "driver"),
        clock=timeline,
        now=timeline.datetime,
    )
    return SimulatedServices(
        scenario, book, timeline, placement=placement, host_store=host_store, driver=driver
    )


def _rng(scenario: Scenario, user: str) -> random.Random:
    return random.Random(f"{scenario.seed}/{user}")  # noqa: S311 - a simulation
