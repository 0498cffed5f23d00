"""Requests as they follow from streams and seed."""

import itertools
import random
from pathlib import Path

import pytest

from simulator.load.load import Request, arrival_times, requests_of, resources_of, spec_of
from simulator.scenario.scenario import Arrivals
from tests.builders import a_flavor
from tests.fixtures.fleets.simulations import a_scenario, a_stream, some_hosts


def first(arrivals: Arrivals, count: int) -> list[float]:
    return list(itertools.islice(arrival_times(arrivals, 10.0, random.Random(1)), count))


def test_fixed_arrivals_are_regular() -> None:
    """From the start of the stream on."""
    assert first(Arrivals("fixed", per_second=2.0), 3) == [10.0, 10.5, 11.0]


def test_bursts_come_together() -> None:
    """A burst, then a pause."""
    bursts = Arrivals("bursts", every_seconds=60.0, requests=2)
    assert first(bursts, 5) == [10.0, 10.0, 70.0, 70.0, 130.0]


def test_poisson_arrivals_have_their_rate() -> None:
    """On average."""
    times = first(Arrivals("poisson", per_second=4.0), 20_000)
    assert times == sorted(times)
    assert (times[-1] - 10.0) / len(times) == pytest.approx(0.25, rel=0.03)


def test_streams_are_merged_by_time(tmp_path: Path) -> None:
    """The earliest request comes first."""
    load = [a_stream(name="a"), a_stream(name="b", arrivals={"fixed": 0.25}, start_seconds=0.5)]
    requests = list(requests_of(a_scenario(tmp_path, load=load)))
    times = [request.at_seconds for request in requests]
    assert times == sorted(times)
    assert len(times) == 20 + 5


def test_a_stream_keeps_to_its_window(tmp_path: Path) -> None:
    """And to the end of the simulation."""
    load = [a_stream(start_seconds=5, end_seconds=8), a_stream(name="b", start_seconds=18)]
    times = [request.at_seconds for request in requests_of(a_scenario(tmp_path, load=load))]
    assert times == [5, 6, 7, 18, 19]


def test_the_mix_is_that_of_the_weights(tmp_path: Path) -> None:
    """Roughly: it is drawn."""
    scenario = a_scenario(
        tmp_path,
        hosts=[some_hosts(zone="z1"), some_hosts("i", zone="z2")],
        flavors={name: {"vcpus": 1, "memory_mb": 1} for name in ("a", "b")},
        load=[a_stream(flavors={"a": 3, "b": 1}, zones={"z1": 1, "z2": 1}, count=[1, 3],
                       arrivals={"fixed": 100})],
    )  # fmt: skip
    requests = list(requests_of(scenario))
    assert sum(each.flavor == "a" for each in requests) / 2000 == pytest.approx(0.75, abs=0.05)
    assert sum(each.zone == "z1" for each in requests) / 2000 == pytest.approx(0.5, abs=0.05)
    assert {each.count for each in requests} == {1, 2, 3}


def test_a_new_group_begins_after_so_many_requests(tmp_path: Path) -> None:
    """Each with the rules of its stream."""
    load = [a_stream(name="s", group={"policy": "affinity", "requests": 8})]
    groups = [request.group for request in requests_of(a_scenario(tmp_path, load=load))]
    assert groups == ["s/0"] * 8 + ["s/1"] * 8 + ["s/2"] * 4


def test_a_stream_does_not_depend_on_another(tmp_path: Path) -> None:
    """A policy is compared on the same load though one stream was added."""
    alone = a_stream(name="a", arrivals={"poisson": 2}, lifetime={"exponential": 5})
    before = list(requests_of(a_scenario(tmp_path, load=[alone])))
    both = a_scenario(tmp_path, load=[alone, a_stream(name="b", project="other")])
    assert [each for each in requests_of(both) if each.project != "other"] == before


def test_another_seed_is_another_load(tmp_path: Path) -> None:
    """The same one is the same."""
    load = [a_stream(arrivals={"poisson": 2})]
    one, same, other = (
        list(requests_of(a_scenario(tmp_path, load=load, seed=seed))) for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other


def test_a_spec_says_what_the_request_says(tmp_path: Path) -> None:
    """Flavor, image, zone, hints, project, how many."""
    scenario = a_scenario(
        tmp_path, hosts=[some_hosts(zone="z1")], images={"linux": {"disk_format": "raw"}}
    )
    request = Request(
        0.0, "small", (1.0, 2.0), image="linux", zone="z1", hints={"query": ["a"]}, project="p"
    )
    spec = spec_of(request, scenario, None)
    assert (spec.flavor.name, spec.num_instances, spec.project_id) == ("small", 2, "p")
    assert spec.image is not None
    assert (spec.image.name, spec.availability_zone) == ("linux", "z1")
    assert spec.scheduler_hints == {"query": ["a"]}


def test_resources_are_those_that_placement_is_asked_for() -> None:
    """With what extra specs change, over all groups."""
    flavor = a_flavor(
        vcpus=2, memory_mb=512, root_gb=0,
        extra_specs={"resources:MEMORY_MB": "256", "resources1:CUSTOM_GPU": "1",
                     "resources2:CUSTOM_GPU": "2"},
    )  # fmt: skip
    assert resources_of(flavor) == {"VCPU": 2, "MEMORY_MB": 256, "CUSTOM_GPU": 3}
