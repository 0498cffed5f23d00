"""The scheduler and placement of a simulation, in this process, and what they are told of hosts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import cast

from oslo_config import cfg

from armillary.cli.simulate.events import Timeline
from armillary.cli.simulate.host_book import HostBook, uuid_of
from armillary.cli.simulate.memory_placement import MemoryPlacement
from armillary.cli.simulate.scenario import Scenario
from armillary.context import RequestContext
from objects.allocation import FENCE_STEP
from objects.destinations import Destinations
from objects.host_states import HostStateBatch
from objects.request_spec import RequestSpec
from placement.rpcapi import PlacementAPI
from scheduler.drivers.base import SchedulerDriver, load_driver
from scheduler.facts import Facts
from scheduler.fleet import Fleet

LIFE_SIGN_SECONDS = 5.0


class World:
    """The real driver and the real rules of placement; only clocks and dice are ours."""

    def __init__(
        self,
        scenario: Scenario,
        book: HostBook,
        timeline: Timeline,
        *,
        placement: MemoryPlacement,
        fleet: Fleet,
        driver: SchedulerDriver,
    ) -> None:
        self.placement = placement
        self._book = book
        self._timeline = timeline
        self._fleet = fleet
        self._driver = driver
        self._seqs = dict.fromkeys(sorted({shape.cell for shape in scenario.shapes}), 0)
        self._heard_at = 0.0
        self._announce(scenario)

    def decide(
        self, context: RequestContext, spec: RequestSpec, instance_uuids: Sequence[str]
    ) -> Destinations:
        """Select and claim hosts. Raises what ``SchedulerAPI`` promises."""
        return self._driver.select_destinations(
            context,
            spec,
            instance_uuids,
            fences=[FENCE_STEP] * len(instance_uuids),
            return_alternates=True,
            dry_run=False,
        )

    def refresh(self) -> None:
        """Let the driver look at the hosts anew, as its service does now and then."""
        self._driver.refresh()

    def push(self) -> None:
        """Tell the scheduler of all hosts that changed, as their cells would."""
        changed: dict[str, list[int]] = {}
        for row, host in self._book.changed.items():
            changed.setdefault(host.shape.cell, []).append(row)
        for cell in sorted(changed):
            self._push(cell, changed[cell])
        self._book.changed.clear()

    def give_life_sign(self) -> None:
        """Let the cells be heard of, if that was long ago: they are never silent."""
        if self._timeline.now - self._heard_at < LIFE_SIGN_SECONDS:
            return
        for cell, seq in self._seqs.items():
            self._fleet.apply(
                HostStateBatch.from_values(
                    cell_uuid=uuid_of("cell", cell), first_seq=seq, last_seq=seq
                )
            )
        self._heard_at = self._timeline.now

    def _push(self, cell: str, rows: Sequence[int]) -> None:
        hosts = [self._book.hosts[row] for row in sorted(rows)]
        seq = self._seqs[cell]
        self._seqs[cell] = seq + 1
        self._fleet.apply(
            HostStateBatch.from_values(
                cell_uuid=uuid_of("cell", cell),
                first_seq=seq,
                last_seq=seq + 1,
                full=seq == 0,
                node_uuids=[host.uuid for host in hosts],
                hosts=[host.name for host in hosts],
                nodes=[host.name for host in hosts],
                attributes=self._book.columns(hosts),
            )
        )

    def _announce(self, scenario: Scenario) -> None:
        self._fleet.set_facts(
            Facts(
                seq=1,
                cells=[
                    {"uuid": uuid_of("cell", cell), "name": cell, "disabled": False}
                    for cell in self._seqs
                ],
                aggregates=self._book.aggregates(scenario.aggregates),
            )
        )
        self.push()


def make_world(
    scenario: Scenario, conf: cfg.ConfigOpts, *, book: HostBook, timeline: Timeline
) -> World:
    """Return a world for a scenario. Raises ``PluginNotFound``, ``ConfigurationError``."""
    placement = MemoryPlacement(
        conf,
        book.providers(),
        {
            aggregate.uuid: [uuid_of("host", name) for name in aggregate.hosts]
            for aggregate in book.aggregates(scenario.aggregates)
        },
        dice=_dice(scenario, "placement"),
    )
    fleet = Fleet(conf, clock=timeline)
    driver = load_driver(
        conf,
        fleet=fleet,
        placement=cast("PlacementAPI", placement),  # as far as a driver asks it
        dice=_dice(scenario, "driver"),
        clock=timeline,
        now=timeline.datetime,
    )
    return World(scenario, book, timeline, placement=placement, fleet=fleet, driver=driver)


def _dice(scenario: Scenario, user: str) -> random.Random:
    return random.Random(f"{scenario.seed}/{user}")  # noqa: S311 - a simulation
