"""Simulation loop: requests arrive, are scheduled, and their consequences follow."""

import random
import time
import uuid
from collections.abc import Callable, Mapping

from armillary import exception
from armillary.context import RequestContext
from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from objects.traces.decision_trace import DecisionTrace, PlainTrace
from simulator.events import Order, Timeline
from simulator.fleet.host_states import HostStates
from simulator.fleet.outages import Outages
from simulator.load.groups import Groups
from simulator.load.instance_lifecycles import Instance, InstanceLifecycles
from simulator.load.load import Request, resources_of, spec_of, topology_of
from simulator.load.recorded_load import requests_in
from simulator.results.decision_samples import DecisionSample, DecisionSamples
from simulator.results.meter import SAMPLES, Meter, sizes
from simulator.results.outcome import Outcome
from simulator.results.outcome_counts import OutcomeCounts
from simulator.results.refusals import cause_of
from simulator.scenario.policies import Policy
from simulator.scenario.scenario import Scenario
from simulator.scenario.scenario_errors import BadScenario
from simulator.simulated_services import SimulatedServices, make_simulated_services

SHOW_EVERY = 50  # events

Show = Callable[[int, Mapping[str, int]], None]
"""Called with the elapsed simulated seconds, and counts of instances."""


def simulate(scenario: Scenario, policy: Policy, show: Show) -> Outcome:
    """Run a scenario under a policy.

    Raises ``BadScenario`` for an invalid recorded load, ``PluginNotFound`` for a driver, filter or
    weigher that is not installed.
    """
    timeline = Timeline(scenario.duration_seconds)
    book = HostStates(scenario)
    flavors = _needed(scenario)
    world = make_simulated_services(scenario, policy.conf, book=book, timeline=timeline)
    simulation = Simulation(
        scenario,
        world,
        book,
        timeline,
        flavors,
        refresh_seconds=policy.conf.scheduler.periodic_task_interval,
    )
    return simulation.run(policy.name, show)


class Simulation:
    """The event loop, and the handling of requests."""

    def __init__(
        self,
        scenario: Scenario,
        world: SimulatedServices,
        book: HostStates,
        timeline: Timeline,
        flavors: Mapping[str, Mapping[str, int]],
        *,
        refresh_seconds: float,
    ) -> None:
        self._scenario = scenario
        self._world = world
        self._book = book
        self._timeline = timeline
        self._tally = OutcomeCounts()
        self._groups = Groups()
        self._lives = InstanceLifecycles(
            scenario,
            book=book,
            groups=self._groups,
            needed=flavors,
            placement=world.placement,
            tally=self._tally,
            timeline=timeline,
        )
        self._outages = Outages(
            scenario, book=book, lives=self._lives, tally=self._tally, timeline=timeline
        )
        self._meter = Meter(book, self._tally, sizes(book, flavors))
        self._samples = {"placed": DecisionSamples(), "refused": DecisionSamples()}
        self._requests = requests_in(scenario)
        self._names = random.Random(f"{scenario.seed}/instances")  # noqa: S311 - a simulation
        self._is_push_planned = False
        self._refresh_seconds = refresh_seconds

    def run(self, policy: str, show: Show) -> Outcome:
        self._outages.plan()
        self._plan_next_request()
        self._plan_sample(0)
        self._plan_refresh()
        for number, _ in enumerate(self._timeline.run()):
            self._meter.advance(self._timeline.now)
            self._plan_push()
            if number % SHOW_EVERY == 0:
                self._show(show)
        self._show(show)
        return Outcome(
            policy=policy,
            counts=self._tally.counts(),
            refusals=self._tally.refusals.ranked(),
            utilisation=self._meter.utilisation(),
            measures=self._meter.summary(),
            series=self._meter.series,
            hosts=self._meter.hosts(),
            story=self._tally.fingerprint,
            decisions=self._tally.decisions(),
            samples={name: samples.to_plain() for name, samples in self._samples.items()},
        )

    def _show(self, show: Show) -> None:
        tally = self._tally
        show(
            int(self._timeline.now),
            {"accepted": tally.accepted, "refused": tally.refused, "failed": tally.failed},
        )

    # Updates of the scheduler ---------------------------------------------------------------------

    def _plan_push(self) -> None:
        """Schedule a push of the changes, at the end of the current interval."""
        interval = self._scenario.push_interval_seconds
        if not interval or self._is_push_planned or not self._book.changed:
            return
        self._is_push_planned = True
        tick = (self._timeline.now // interval + 1) * interval
        self._timeline.plan(tick, Order.PUSH, self._push)

    def _push(self) -> None:
        self._is_push_planned = False
        self._world.push()

    def _plan_refresh(self) -> None:
        """Schedule the next refresh of drivers that cache hosts."""
        at_seconds = self._timeline.now + self._refresh_seconds
        self._timeline.plan(at_seconds, Order.PUSH, self._refresh)

    def _refresh(self) -> None:
        self._world.refresh()
        self._plan_refresh()

    # Requests -------------------------------------------------------------------------------------

    def _plan_next_request(self) -> None:
        request = next(self._requests, None)
        if request is not None:
            self._timeline.plan(request.at_seconds, Order.ARRIVAL, lambda: self._arrive(request))

    def _arrive(self, request: Request) -> None:
        self._plan_next_request()
        if not self._scenario.push_interval_seconds:
            self._world.push()
        self._world.send_heartbeats()
        self._lives.settle()
        self._tally.requests += 1
        self._tally.requested += request.count
        uuids = [self._new_uuid() for _ in request.lifetimes]
        try:
            spec = spec_of(request, self._scenario, self._groups.group_of(request))
            found = self._decide(spec, uuids)
        except exception.ArmillaryError as error:
            self._refuse(request, error)
            return
        self._sample_decision("placed", request, found.trace.to_plain)
        self._begin(request, spec, uuids, found)

    def _decide(self, spec: RequestSpec, uuids: list[str]) -> Destinations:
        context = RequestContext(
            user_id=spec.user_id,
            project_id=spec.project_id,
            request_id=f"req-simulation-{self._tally.requests}",
        )
        started = time.perf_counter()
        try:
            return self._world.decide(context, spec, uuids)
        finally:
            self._tally.decision_seconds.append(time.perf_counter() - started)

    def _refuse(self, request: Request, error: exception.ArmillaryError) -> None:
        self._tally.requests_refused += 1
        self._tally.refused += request.count
        self._tally.refusals.add(cause_of(error), str(error), request.count)
        self._tally.happened(self._timeline.now, "refused", str(self._tally.requests))
        primitive = error.kwargs.get("trace")
        if primitive is not None:
            trace = DecisionTrace.obj_from_primitive(primitive)
            self._sample_decision("refused", request, trace.to_plain)

    def _sample_decision(
        self, outcome: str, request: Request, plain: Callable[[], PlainTrace]
    ) -> None:
        at_seconds, number = self._timeline.now, self._tally.requests
        self._samples[outcome].add(
            lambda: DecisionSample(at_seconds, number, request.flavor, request.count, plain())
        )

    def _begin(
        self, request: Request, spec: RequestSpec, uuids: list[str], found: Destinations
    ) -> None:
        first = self._tally.requested - request.count
        image = spec.image.properties if spec.image else {}
        properties = [f"{key}={value}" for key, value in image.items()]
        for index, selections in enumerate(found.selections()):
            self._lives.begin(
                Instance(
                    number=first + index,
                    uuid=uuids[index],
                    request=request,
                    lifetime_seconds=request.lifetimes[index],
                    selections=selections,
                    properties=properties,
                    numa=topology_of(spec),
                )
            )

    def _new_uuid(self) -> str:
        return str(uuid.UUID(int=self._names.getrandbits(128), version=4))

    # Samples --------------------------------------------------------------------------------------

    def _plan_sample(self, number: int) -> None:
        at_seconds = self._scenario.duration_seconds * number / SAMPLES
        self._timeline.plan(at_seconds, Order.SAMPLE, lambda: self._sample(number))

    def _sample(self, number: int) -> None:
        self._meter.sample(self._timeline.now)
        if number < SAMPLES:
            self._plan_sample(number + 1)


def _needed(scenario: Scenario) -> dict[str, dict[str, int]]:
    """Return the resources of each flavor. Raises ``BadScenario`` for an invalid flavor."""
    needed = {}
    for name, flavor in scenario.flavors.items():
        try:
            needed[name] = resources_of(flavor)
        except exception.ArmillaryError as error:
            raise BadScenario(
                file=scenario.file, where=f"flavors.{name}", reason=str(error)
            ) from error
    return needed
