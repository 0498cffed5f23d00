"""Measurements of hosts, in figures that can be computed by hand."""

from pathlib import Path

import numpy as np
import pytest

from simulator.fleet.host_states import HostStates, PlacedInstance
from simulator.results.meter import Meter, fragmentation, gini, sizes, variation
from simulator.results.outcome_counts import OutcomeCounts
from tests.builders import a_uuid
from tests.fixtures.fleets.simulations import a_scenario, some_hosts


@pytest.mark.parametrize(
    ("free", "needed", "expected"),
    [
        ([[4, 4], [4, 4]], [4, 4], 0.0),
        ([[2, 2], [2, 2]], [4, 4], 1.0),
        ([[6, 6], [2, 2]], [4, 4], 0.5),
        ([[8, 0], [0, 8]], [4, 4], 1.0),
        ([[1, 1], [0, 0]], [4, 4], 0.0),
        ([[8, 0], [0, 0]], [4, 0], 0.0),
        ([], [4, 4], 0.0),
    ],
    ids=["none", "all", "half", "other-resource", "no-room-at-all", "not-asked", "no-hosts"],
)
def test_fragmentation(free: list[list[int]], needed: list[int], expected: float) -> None:
    """The part of the room that is lost because it is scattered."""
    rows = np.array(free, np.float64).reshape(-1, 2)
    assert fragmentation(rows, np.array(needed, np.float64)) == expected


@pytest.mark.parametrize(
    ("load", "variation_expected", "gini_expected"),
    [
        ([0.5, 0.5, 0.5, 0.5], 0.0, 0.0),
        ([0.0, 0.0, 0.0, 1.0], 3**0.5, 0.75),
        ([0.0, 0.0], 0.0, 0.0),
    ],
    ids=["even", "one-has-all", "empty"],
)
def test_unevenness(load: list[float], variation_expected: float, gini_expected: float) -> None:
    """Of equal hosts none, of one that has everything much."""
    array = np.array(load)
    assert variation(array) == pytest.approx(variation_expected)
    assert gini(array) == pytest.approx(gini_expected)


def test_the_median_and_the_largest_flavor_are_looked_at(tmp_path: Path) -> None:
    """By the part of a host that they take; what no host has cannot be scattered."""
    book = HostStates(a_scenario(tmp_path))
    flavors = {
        "wide": {"VCPU": 1, "MEMORY_MB": 8192},
        "small": {"VCPU": 1, "MEMORY_MB": 128},
        "middle": {"VCPU": 4, "MEMORY_MB": 128},
        "odd": {"CUSTOM_GPU": 1},
    }
    assert list(sizes(book, flavors)) == ["middle", "wide"]
    assert sizes(book, {"odd": {"CUSTOM_GPU": 1}}) == {}
    assert list(sizes(book, {"small": flavors["small"]})) == ["small"]


def test_means_are_over_time(tmp_path: Path) -> None:
    """An instance that takes half of everything for a quarter of the time counts an eighth."""
    book = HostStates(a_scenario(tmp_path, hosts=[some_hosts("h")]))
    meter = Meter(book, OutcomeCounts(), {})
    host = book.hosts[0]
    tenant = PlacedInstance(a_uuid(), "small", "p", book.amounts_of({"VCPU": 4}))
    meter.advance(0.0)
    book.enter(host, tenant)
    meter.advance(25.0)
    book.leave(host, tenant)
    meter.advance(100.0)
    assert meter.utilisation()["VCPU"] == {"mean": 0.125, "peak": 0.5, "end": 0.0, "capacity": 8.0}


def test_samples_show_hosts_as_they_are(tmp_path: Path) -> None:
    """Empty ones, the room that is scattered; hosts that are down have none."""
    book = HostStates(a_scenario(tmp_path, hosts=[some_hosts("h-{1..2}")]))
    meter = Meter(book, OutcomeCounts(), {"half": book.amounts_of({"VCPU": 6})})
    book.enter(book.hosts[0], PlacedInstance(a_uuid(), "small", "p", book.amounts_of({"VCPU": 4})))
    meter.sample(0.0)
    book.set_down(book.hosts[1], is_down=True)
    meter.sample(1.0)
    assert meter.series["empty_hosts"] == [1.0, 0.0]
    assert meter.series["down_hosts"] == [0.0, 1.0]
    assert meter.series["load gini"] == [0.5, 0.0]
    assert meter.series["fragmentation half"] == [0.5, 0.0]
    assert meter.series["used VCPU"] == [0.25, 0.25]
    assert meter.summary()["fragmentation half"] == {"mean": 0.25, "end": 0.0}


def test_samples_show_each_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is used of each class, instances, and whether it is up; fewer times if it is much."""
    book = HostStates(a_scenario(tmp_path, hosts=[some_hosts("h-{1..2}")]))
    meters = [Meter(book, OutcomeCounts(), {})]
    monkeypatch.setattr("simulator.results.meter.HOST_VALUES_MAX", 2 * 5 * 101)
    meters.append(Meter(book, OutcomeCounts(), {}))
    book.enter(book.hosts[0], PlacedInstance(a_uuid(), "small", "p", book.amounts_of({"VCPU": 4})))
    for meter in meters:
        meter.sample(0.0)
    book.set_down(book.hosts[1], is_down=True)
    for meter in meters:
        meter.sample(1.0)
    found = meters[0].hosts()
    assert (found["seconds"], meters[1].hosts()["seconds"]) == ([0.0, 1.0], [0.0])
    one, other = found["hosts"]["h-1"], found["hosts"]["h-2"]
    assert (one["VCPU"], one["instances"], other["VCPU"]) == ([4, 4], [1, 1], [0, 0])
    assert (one["up"], other["up"]) == ([1, 1], [1, 0])
