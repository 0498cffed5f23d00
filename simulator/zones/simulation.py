"""Simulation of a tree of zones: requests start at the root, owning zones claim, instances end."""

import contextlib
import gc
import random
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from armillary import exception
from armillary.context import RequestContext
from objects.allocations.fence import FIRST_FENCE
from objects.request_spec import RequestSpec
from scheduler.request.scheduling_request import SchedulingRequest
from scheduler.zones.offers import Offers
from scheduler.zones.search import Found
from simulator.events import Order, Timeline
from simulator.load.load import Request, spec_of
from simulator.load.recorded_load import requests_in
from simulator.results.refusals import cause_of
from simulator.scenario.policies import Policy
from simulator.scenario.scenario import Scenario, ZoneTree
from simulator.zones.flat import FlatComparison
from simulator.zones.outcome import ZonesOutcome
from simulator.zones.simulated_tree import SimulatedTree, flat_zone
from simulator.zones.tree import hosts_total
from simulator.zones.zone import SimulatedZone

_LIFE_SIGN_SECONDS = 5.0

Show = Callable[[int, Mapping[str, int]], None]
"""Called with the elapsed simulated seconds, and counts."""


def simulate_zones(scenario: Scenario, tree: ZoneTree, policy: Policy, show: Show) -> ZonesOutcome:
    """Run a scenario with zones under a policy. Raises as ``simulate``."""
    started = time.perf_counter()
    timeline = Timeline(scenario.duration_seconds)
    made = SimulatedTree(
        scenario, tree, policy.conf, timeline, lambda hosts: show(0, {"hosts": hosts})
    )
    flat = None
    if tree.compares_with_flat:
        flat = FlatComparison(flat_zone(scenario, tree, policy.conf, timeline))
    outcome = ZonesOutcome(
        policy=policy.name,
        zones=len(made.zones),
        zones_with_hosts=sum(len(zone.host_store) > 0 for zone in made.zones.values()),
        levels=len(tree.widths) + 1,
        hosts=hosts_total(tree, scenario.shapes),
        setup_seconds=time.perf_counter() - started,
    )
    run = ZonesSimulation(
        scenario, made, flat, timeline, outcome, push_seconds=policy.conf.zones.push_seconds
    )
    with _excluded_from_gc():
        run.run(show)
    return outcome


@contextlib.contextmanager
def _excluded_from_gc() -> Iterator[None]:
    """Exclude the zones from garbage collection: scanning millions of objects takes a second.

    What was excluded before stays excluded, and the zones with it.
    """
    is_first = gc.get_freeze_count() == 0
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if is_first:
            gc.unfreeze()


class ZonesSimulation:
    """The event loop. Summaries are pushed every ``push_seconds`` of simulated time."""

    def __init__(
        self,
        scenario: Scenario,
        made: SimulatedTree,
        flat: FlatComparison | None,
        timeline: Timeline,
        outcome: ZonesOutcome,
        *,
        push_seconds: float,
    ) -> None:
        self._scenario = scenario
        self._made = made
        self._flat = flat
        self._timeline = timeline
        self._outcome = outcome
        self._push_seconds = push_seconds
        self._requests = requests_in(scenario)
        self._names = random.Random(f"{scenario.seed}/instances")  # noqa: S311 - a simulation

    def run(self, show: Show) -> None:
        self._push_summaries()
        self._plan_hosts()
        self._plan_next_request()
        for _ in self._timeline.run():
            counts = self._outcome.counts
            show(
                int(self._timeline.now),
                {name: counts[name] for name in ("accepted", "refused", "failed")},
            )
        if self._flat is not None:
            self._outcome.flat = self._flat.figures()

    # Updates --------------------------------------------------------------------------------------

    def _push_summaries(self) -> None:
        self._made.push_hosts()
        started = time.perf_counter()
        traffic = self._made.push_summaries()
        self._outcome.round_ms.add((time.perf_counter() - started) * 1000)
        self._outcome.summary_bytes.add(traffic.summary_bytes)
        self._outcome.summary_bytes_max = max(
            self._outcome.summary_bytes_max, traffic.summary_bytes_max
        )
        at_seconds = self._timeline.now + self._push_seconds
        self._timeline.plan(at_seconds, Order.PUSH, self._push_summaries)

    def _plan_hosts(self) -> None:
        """Schedule heartbeats of cells, whatever the period of summaries."""
        self._made.push_hosts()
        if self._flat is not None:
            self._flat.zone.push_hosts()
        at_seconds = self._timeline.now + _LIFE_SIGN_SECONDS
        self._timeline.plan(at_seconds, Order.PUSH, self._plan_hosts)

    # Requests -------------------------------------------------------------------------------------

    def _plan_next_request(self) -> None:
        request = next(self._requests, None)
        if request is not None:
            self._timeline.plan(request.at_seconds, Order.ARRIVAL, lambda: self._arrive(request))

    def _arrive(self, request: Request) -> None:
        self._plan_next_request()
        counts = self._outcome.counts
        counts["requests"] += 1
        counts["requested"] += request.count
        uuids = [self._new_uuid() for _ in request.lifetimes]
        try:
            spec = spec_of(request, self._scenario, None)
            asked = self._asked(spec, uuids)
            found = self._decide(asked)
        except exception.ArmillaryError as error:
            self._refuse(request.count, error)
            return
        if self._flat is not None:
            self._flat.compare(asked, found.offers.host_ids)
        if not len(found.offers):
            self._refuse(request.count, exception.NoValidHost(reason=_why(found)))
            return
        for number, instance_uuid in enumerate(uuids):
            self._try_hosts(asked, instance_uuid, number, found.offers, request.lifetimes[number])

    def _asked(self, spec: RequestSpec, uuids: Sequence[str]) -> SchedulingRequest:
        context = RequestContext(
            user_id=spec.user_id,
            project_id=spec.project_id,
            request_id=f"req-simulation-{self._outcome.counts['requests']}",
        )
        return SchedulingRequest(context, spec, uuids, [int(FIRST_FENCE)] * len(uuids))

    def _decide(self, asked: SchedulingRequest) -> Found:
        """Return the best hosts of the tree, if any; measure the cost."""
        search, meter = self._made.root.search, self._made.meter
        meter.begin()
        started = meter.enter()
        plan = search.plan(asked.request_spec)
        found = search.search(asked.context, search.origin_query(asked), plan)
        took = meter.leave(started)
        flavor = asked.request_spec.flavor.name
        self._outcome.add_request(flavor, meter.traffic, found.zones, took)
        return found

    def _try_hosts(
        self,
        asked: SchedulingRequest,
        instance_uuid: str,
        number: int,
        offers: Offers,
        lifetime_seconds: float,
    ) -> None:
        """Try the hosts in turn, starting at the instance's own position in the list."""
        count = len(offers)
        for step in range(count):
            entry = (number + step) % count
            zone, node = self._made.zones[tuple(offers.paths[entry])], offers.host_ids[entry]
            if zone.place_on(asked.context, asked.request_spec, instance_uuid, node):
                self._outcome.counts["accepted"] += 1
                self._plan_end(zone, instance_uuid, node, lifetime_seconds)
                self._mirror(asked, instance_uuid, node, lifetime_seconds)
                return
            self._outcome.counts["retries"] += 1
        self._outcome.counts["failed"] += 1

    def _mirror(
        self, asked: SchedulingRequest, instance_uuid: str, node: str, lifetime_seconds: float
    ) -> None:
        """Place the instance on the same host of the flat zone, so that both are equally full."""
        if self._flat is not None:
            zone = self._flat.zone
            zone.place_on(asked.context, asked.request_spec, instance_uuid, node)
            zone.push_hosts()
            self._plan_end(zone, instance_uuid, node, lifetime_seconds, is_mirrored=True)

    def _plan_end(
        self,
        zone: SimulatedZone,
        instance_uuid: str,
        node: str,
        lifetime_seconds: float,
        *,
        is_mirrored: bool = False,
    ) -> None:
        zone.push_hosts()

        def end() -> None:
            zone.release(instance_uuid, node)
            zone.push_hosts()
            if not is_mirrored:
                self._outcome.counts["ended"] += 1

        self._timeline.plan(self._timeline.now + lifetime_seconds, Order.END, end)

    def _refuse(self, count: int, error: exception.ArmillaryError) -> None:
        self._outcome.counts["refused"] += count
        self._outcome.refusals.add(cause_of(error), str(error), count)

    def _new_uuid(self) -> str:
        return str(uuid.UUID(int=self._names.getrandbits(128), version=4))


def _why(found: Found) -> str:
    """Return the most frequent reason of zones without a host, preferably of those ruled out."""
    reasons = Counter(
        (zone.outcome == "pruned", zone.reason.rstrip(".")) for zone in found.zones if zone.reason
    )
    if not reasons:
        return "No zone has a host."
    _was_pruned, most = max(reasons, key=lambda reason: (reason[0], reasons[reason]))
    return f"No zone has a host: {most}."
