"""Requests of a simulation in order of arrival, and their specs; identical for every policy."""

import heapq
import itertools
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from objects.flavor import Flavor
from objects.instances.instance_group import InstanceGroup
from objects.instances.local_resources import local_resources_of
from objects.numa import InstanceTopology
from objects.request_spec import RequestSpec
from scheduler.request import resource_query
from simulator.scenario.scenario import Arrivals, GroupRules, Scenario, Stream


@dataclass(frozen=True, slots=True)
class Request:
    """One request, with one instance per lifetime."""

    at_seconds: float
    flavor: str
    lifetimes: tuple[float, ...]
    image: str | None = None
    zone: str | None = None
    hints: Mapping[str, list[str]] = field(default_factory=dict)
    project: str = "simulated"
    group: str | None = None
    """The name of its server group."""
    group_rules: GroupRules | None = None

    @property
    def count(self) -> int:
        return len(self.lifetimes)


def requests_of(scenario: Scenario) -> Iterator[Request]:
    """Yield the requests of a scenario's streams, as determined by its seed."""
    return heapq.merge(
        *(_requests(scenario, stream) for stream in scenario.streams),
        key=lambda request: request.at_seconds,
    )


def _requests(scenario: Scenario, stream: Stream) -> Iterator[Request]:
    rng = random.Random(f"{scenario.seed}/load/{stream.name}")  # noqa: S311 - a simulation
    end = min(scenario.duration_seconds, stream.end_seconds)
    times = arrival_times(stream.arrivals, stream.start_seconds, rng)
    for number, at_seconds in enumerate(itertools.takewhile(lambda at: at < end, times)):
        yield _request(stream, number, at_seconds, rng)


def arrival_times(arrivals: Arrivals, start_seconds: float, rng: random.Random) -> Iterator[float]:
    """Yield the times of arrivals, without end."""
    if arrivals.kind == "bursts":
        for burst in itertools.count():
            yield from itertools.repeat(
                start_seconds + burst * arrivals.every_seconds, arrivals.requests
            )
    elif arrivals.kind == "fixed":
        for number in itertools.count():
            yield start_seconds + number / arrivals.per_second
    now = start_seconds
    while True:
        now += rng.expovariate(arrivals.per_second)
        yield now


def _request(stream: Stream, number: int, at_seconds: float, rng: random.Random) -> Request:
    count = rng.randint(stream.count_min, stream.count_max)
    rules, new_group = stream.group, f"{stream.name}/{number // stream.group_requests}"
    return Request(
        at_seconds=at_seconds,
        flavor=_drawn(stream.flavors, rng),
        lifetimes=tuple(stream.lifetime.draw(rng) for _ in range(count)),
        image=_drawn(stream.images, rng) if stream.images else None,
        zone=_drawn(stream.zones, rng) if stream.zones else None,
        hints=stream.hints,
        project=stream.project,
        group=stream.group_name or new_group if rules else None,
        group_rules=rules,
    )


def _drawn(weights: Mapping[str, float], rng: random.Random) -> str:
    (name,) = rng.choices(list(weights), list(weights.values()))
    return name


def spec_of(request: Request, scenario: Scenario, group: InstanceGroup | None) -> RequestSpec:
    """Return the request spec of a request. Raises ``InvalidNUMATopology``."""
    flavor = scenario.flavors[request.flavor]
    image = scenario.images[request.image] if request.image else None
    return RequestSpec.from_values(
        local_resources_of(flavor, image, {}),
        project_id=request.project,
        user_id=request.project,
        flavor=flavor,
        image=image,
        num_instances=request.count,
        availability_zone=request.zone,
        scheduler_hints={name: list(values) for name, values in request.hints.items()},
        instance_group=group,
    )


def topology_of(spec: RequestSpec) -> InstanceTopology | None:
    plain = spec.numa_topology
    return None if plain is None else InstanceTopology.from_plain(plain)


def resources_of(flavor: Flavor) -> dict[str, int]:
    """Return the resources of an instance of a flavor, by class.

    Raises what the scheduler raises for invalid extra specs.
    """
    spec = RequestSpec.from_values(
        local_resources_of(flavor, None, {}), project_id="p", user_id="u", flavor=flavor
    )
    needed: dict[str, int] = {}
    for group in resource_query.build(spec, limit=0).groups:
        for name, amount in group.resources.items():
            needed[name] = needed.get(name, 0) + amount
    return needed
