"""A tree of zones in one process: decided by the real code, beside one flat scheduler."""

import gc
import json
from pathlib import Path
from typing import Any

import pytest

from simulator.scenario.policies import read_policies
from simulator.scenario.scenario_errors import BadScenario
from simulator.zones.outcome import FlatFigures, ZonesOutcome
from simulator.zones.simulation import simulate_zones
from simulator.zones.tree import hosts_total, root_of
from tests.fixtures.fleets.simulations import a_scenario, a_stream, some_hosts, write_policy
from tests.unit.programs.commands.test_simulate import simulate

pytestmark = pytest.mark.sampled_tests(every=3)

TREE: dict[str, Any] = {"widths": [2, 2]}
COMPARED = {**TREE, "compare_with_flat": True}


def run(folder: Path, *options: str, **changes: Any) -> ZonesOutcome:
    """Return what comes of a scenario with a tree of two regions of two zones."""
    scenario = a_scenario(folder, **{"zones": TREE, **changes})
    files = [write_policy(folder, "policy", options)] if options else []
    (policy,) = read_policies(files, [])
    assert scenario.tree is not None
    return simulate_zones(scenario, scenario.tree, policy, lambda done, counts: None)


# The tree


def test_zones_are_named_by_their_place(tmp_path: Path) -> None:
    """Children come before their parents; the path begins below the root."""
    scenario = a_scenario(tmp_path, zones=TREE)
    assert scenario.tree is not None
    places = list(root_of(scenario.tree).all())
    assert [place.name for place in places] == ["z1.1", "z1.2", "z1", "z2.1", "z2.2", "z2", "z"]
    assert places[0].path == ("z1", "z1.1")
    assert hosts_total(scenario.tree, scenario.shapes) == 16


def test_hosts_may_be_everywhere_or_in_some_zones(tmp_path: Path) -> None:
    """Mixed zones are zones, too."""
    hosts = [some_hosts(), some_hosts("x-{1..3}", in_zones=["z2.*", "z"])]
    scenario = a_scenario(tmp_path, zones={"widths": [2, 2], "hosts_in": "all"}, hosts=hosts)
    assert scenario.tree is not None
    assert hosts_total(scenario.tree, scenario.shapes) == 7 * 4 + 3 * 3


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"zones": {"widths": [1000, 3]}}, "zones.widths"),
        ({"zones": TREE, "hosts": [some_hosts(in_zones=["y*"])]}, "in_zones"),
        ({"hosts": [some_hosts(in_zones=["z1"])]}, "in_zones"),
        ({"zones": TREE, "hosts": [some_hosts(pcpus=2)]}, "hosts"),
        ({"zones": TREE, "builds": {"failure_rate": 0.5}}, "builds"),
        ({"zones": TREE, "load": [a_stream(group={"policy": "affinity"})]}, "load"),
        ({"zones": {"widths": [100]}, "hosts": [some_hosts("n-{1..90000}")]}, "hosts"),
        ({"zones": COMPARED, "hosts": [some_hosts("n-{1..90000}")]}, "hosts"),
        ({"zones": {"widths": []}}, "zones.widths"),
    ],
    ids=["zones", "nowhere", "no-tree", "numa", "builds", "group", "hosts", "flat", "no-widths"],
)
def test_what_zones_cannot_have_is_refused(
    changes: dict[str, Any], where: str, tmp_path: Path
) -> None:
    """With its place in the file."""
    with pytest.raises(BadScenario, match=where):
        a_scenario(tmp_path, **changes)


# Decisions


def test_a_tree_decides_as_one_scheduler_would(tmp_path: Path) -> None:
    """All regions are asked for each request; the best host of all gets it."""
    outcome = run(tmp_path, zones=COMPARED)
    assert outcome.counts["accepted"] == 20
    assert outcome.asked.zones_asked.to_plain()["mean"] == 6
    assert outcome.asked.messages.to_plain()["mean"] == 12
    assert outcome.flat == FlatFigures(
        requests=20,
        disagreed=0,
        same_first=1.0,
        entries_among_best=1.0,
        loss_mean=0.0,
        loss_max=0.0,
    )


def test_zones_that_cannot_serve_a_request_are_not_reached(tmp_path: Path) -> None:
    """Nothing is sent below a region that is ruled out (BZ-41)."""
    hosts = [some_hosts(), some_hosts("g-1", in_zones=["z2.1"], resources={"VGPU": 100})]
    flavors = {"gpu": {"vcpus": 1, "memory_mb": 1, "extra_specs": {"resources:VGPU": 1}}}
    outcome = run(tmp_path, hosts=hosts, flavors=flavors, load=[a_stream(flavors={"gpu": 1})])
    assert outcome.asked.zones_asked.to_plain()["mean"] == 2  # z2 and z2.1
    assert outcome.outcomes["pruned"] == 2 * 20  # z1, and z2.2 below z2
    assert outcome.counts["accepted"] == 8  # as many as the host has CPUs


def test_what_no_zone_can_serve_costs_no_message(tmp_path: Path) -> None:
    """The summaries of the regions say it all, and the report says why."""
    flavors = {"huge": {"vcpus": 1, "memory_mb": 99999}}
    outcome = run(tmp_path, flavors=flavors, load=[a_stream(flavors={"huge": 1})])
    assert outcome.asked.messages.to_plain()["max"] == 0
    (reason,) = outcome.refusals.ranked()
    assert "MEMORY_MB" in reason.reason


def test_no_list_is_longer_than_it_may_be(tmp_path: Path) -> None:
    """N, or as many as there are instances (BZ-44, BZ-47)."""
    options = ["[zones]", "entries_max = 2"]
    assert run(tmp_path, *options, duration_seconds=3).entries_max == 2
    changes = {"load": [a_stream(count=3)], "duration_seconds": 3}
    assert run(tmp_path, *options, **changes).entries_max == 3


def test_a_full_host_is_passed_by(tmp_path: Path) -> None:
    """What is claimed counts: all hosts are filled, and no more than that is accepted."""
    hosts = [some_hosts(vcpus=2)]
    outcome = run(tmp_path, hosts=hosts, load=[a_stream(arrivals={"fixed": 2})])
    assert outcome.counts["accepted"] == 16 * 2
    assert outcome.counts["refused"] == 40 - 16 * 2


def test_what_has_ended_makes_room(tmp_path: Path) -> None:
    """In the zone that it was in."""
    hosts = [some_hosts("h-1", in_zones=["z1.1"])]
    outcome = run(tmp_path, hosts=hosts, load=[a_stream(lifetime=5)])
    assert outcome.counts["accepted"] == 20
    assert outcome.counts["ended"] == 16  # those that came in the first 15 s


def test_what_was_excluded_from_garbage_collections_stays_so(tmp_path: Path) -> None:
    """A process that excluded its own objects does not look at them again after a simulation."""
    gc.freeze()
    count = gc.get_freeze_count()
    run(tmp_path, duration_seconds=1)
    assert gc.get_freeze_count() > count * 0.9


# The command


def test_the_report_tells_of_messages_and_the_flat_scheduler(tmp_path: Path) -> None:
    """And the file has all figures."""
    scenario = a_scenario(tmp_path, zones=COMPARED)
    code, output, _said = simulate(scenario.file, "--json", tmp_path / "a.json")
    assert code == 0
    assert "7 zones in 3 levels, 4 of them with 16 hosts together" in output
    assert "messages" in output
    assert "Compared with one flat scheduler" in output
    written = json.loads((tmp_path / "a.json").read_text())
    assert written["scenario"]["hosts"] == 16
    assert written["runs"][0]["messages"]["mean"] == 12


def test_there_is_no_picture_of_zones(tmp_path: Path) -> None:
    """It is refused before anything is simulated."""
    scenario = a_scenario(tmp_path, zones=TREE)
    code, output, said = simulate(scenario.file, "--plot", tmp_path / "a.png")
    assert (code, output) == (2, "")
    assert "without zones" in said
