"""How many single-instance requests a second reach their durable claim: ``scheduler_perf``'s way.

5,000 hosts, 1,000 instances there already, then 10,000 requests from concurrent callers, over the
way a super conductor's take: a message to a scheduler, candidates and a claim from placement.
"""

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from armillary import exception
from armillary.context import admin_context
from conductor.super_conductor.builds.scheduling import Scheduling
from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from tests.bench.measuring import cpu_seconds
from tests.bench.scheduling_service import CALL_SECONDS_MAX, Deployment
from tests.builders import a_flavor, a_uuid
from tests.fleets import a_group, a_request_spec

HOSTS = 5_000
ALREADY_THERE = 1_000
REQUESTS = 10_000
CALLERS = 200
FENCE = 1000

Select = Callable[[RequestSpec, str], Destinations]


@dataclass(frozen=True)
class Went:
    """How a load went: seconds of each request, of all; answers by kind; processors in use."""

    seconds: Sequence[float]
    elapsed_seconds: float
    outcomes: Counter[str]
    conflicts: int
    cpu_seconds: dict[str, float]

    @property
    def per_second(self) -> float:
        return len(self.seconds) / self.elapsed_seconds


def run(deployment: Deployment, specs: Sequence[RequestSpec], *, callers: int = CALLERS) -> Went:
    """Send all requests from so many callers together; each waits for its answer.

    Members of a server group know of each other, as those do that were accepted together.
    """
    select = _selector(deployment)
    turns, seconds, outcomes = itertools.count(), [0.0] * len(specs), Counter[str]()
    conflicts: list[int] = []
    uuids = [a_uuid() for _ in specs]
    for spec in specs:
        if spec.instance_group is not None:
            spec.instance_group.members = uuids

    def call() -> None:
        while (turn := next(turns)) < len(specs):
            began = time.perf_counter()
            try:
                found = select(specs[turn], uuids[turn])
                conflicts.append(_conflicts(found))
                outcome = "placed"
            except exception.ArmillaryError as error:
                outcome = type(error).__name__
            seconds[turn] = time.perf_counter() - began
            outcomes[outcome] += 1

    before = _cpu_seconds(deployment)
    threads = [threading.Thread(target=call) for _ in range(callers)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    elapsed = time.perf_counter() - began
    after = _cpu_seconds(deployment)
    used = {name: after[name] - before[name] for name in after}
    return Went(seconds, elapsed, outcomes, sum(conflicts), used)


def small_requests(count: int) -> list[RequestSpec]:
    """Return requests for 1 vCPU, 512 MiB and 1 GiB, each with a spec object of its own."""
    return [a_request_spec() for _ in range(count)]


def requests_with_refusals(count: int) -> list[RequestSpec]:
    """Return small requests, every second one of which asks for more than any host has."""
    return [
        a_request_spec(flavor=a_flavor("huge", memory_mb=2**30)) if number % 2 else a_request_spec()
        for number in range(count)
    ]


def requests_for_whole_hosts(count: int) -> list[RequestSpec]:
    """Return requests that each fill a host, so that two on one collide."""
    return [a_request_spec(flavor=a_flavor("whole", memory_mb=262_144)) for _ in range(count)]


def requests_apart(count: int) -> list[RequestSpec]:
    """Return small requests of one server group, whose members have to be on different hosts."""
    group = a_group("anti-affinity")
    return [a_request_spec(instance_group=group.obj_clone()) for _ in range(count)]


def _conflicts(found: Destinations) -> int:
    """Return how many claims were refused before one stood."""
    return sum(len(choice["conflicts"]) for choice in found.trace.choices)


def _selector(deployment: Deployment) -> Select:
    """Return what a build does to have hosts selected, with the options of a super conductor."""
    options = deployment.conf.conductor
    scheduling = Scheduling(
        deployment.api(),
        messages_max=options.scheduling_messages_max,
        instances_max=options.scheduling_batch_size_max,
    )

    def select(spec: RequestSpec, uuid: str) -> Destinations:
        return scheduling.select_destinations(
            admin_context(), spec, [uuid], fences=[FENCE], timeout_seconds=CALL_SECONDS_MAX
        )

    return select


def _cpu_seconds(deployment: Deployment) -> dict[str, float]:
    schedulers = [("scheduler", each.pid) for each in deployment.schedulers]
    return cpu_seconds([("placement", deployment.placement), *schedulers])
