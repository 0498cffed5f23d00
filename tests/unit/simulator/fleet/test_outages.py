"""Hosts go down, the scheduler notices, and they come back."""

from pathlib import Path
from typing import Any

import pytest

from simulator.scenario.scenario import Scenario
from tests.fixtures.fleets.simulations import a_scenario, a_stream, run, some_hosts


def with_outage(tmp_path: Path, *, repair: Any, hosts: str = "h-1", **failures: Any) -> Scenario:
    return a_scenario(
        tmp_path,
        hosts=[some_hosts("h-{1..2}", vcpus=20, memory_mb=20480)],
        failures={
            "outages": [{"at_seconds": 9.5, "hosts": hosts, "repair": repair}],
            "notice_seconds": 3,
            **failures,
        },
    )


@pytest.mark.parametrize("repair", [1, 5, "forever"], ids=["unnoticed", "noticed", "for-ever"])
def test_what_ran_on_a_host_is_lost_with_it(repair: Any, tmp_path: Path) -> None:
    """Also when it comes back before anybody noticed. Five ran there until then."""
    counts = run(with_outage(tmp_path, repair=repair)).counts
    assert counts["hosts_failed"] == 1
    assert counts["lost"] == 5
    assert counts["accepted"] == counts["requested"] == 20


def test_instances_may_be_kept(tmp_path: Path) -> None:
    """Where they come back with their host."""
    counts = run(with_outage(tmp_path, repair=5, instances="kept")).counts
    assert (counts["lost"], counts["running"]) == (0, 20)


def test_builds_on_a_host_not_yet_known_to_be_down_are_tried_elsewhere(tmp_path: Path) -> None:
    """They cost a retry each until it is noticed, and none after."""
    counts = run(with_outage(tmp_path, repair="forever")).counts
    assert counts["failed"] == 0
    assert 1 <= counts["retries"] <= 3


def test_when_all_hosts_are_down_there_is_no_room(tmp_path: Path) -> None:
    """The filters see it once it is reported."""
    outcome = run(with_outage(tmp_path, repair="forever", hosts="*"))
    assert outcome.counts["failed"] == 3  # at 10, 11 and 12 s: not noticed yet
    assert outcome.counts["refused"] == 7
    assert outcome.refusals[0].reason == "ComputeFilter"


def test_a_build_in_progress_goes_on_elsewhere_when_its_host_fails(tmp_path: Path) -> None:
    """It is neither lost nor accepted twice."""
    scenario = a_scenario(
        tmp_path,
        hosts=[some_hosts("h-{1..2}", vcpus=20, memory_mb=20480)],
        load=[a_stream(end_seconds=0.5)],
        builds={"seconds": 10},
        failures={"outages": [{"at_seconds": 2, "hosts": "*1"}, {"at_seconds": 15, "hosts": "*2"}],
                  "notice_seconds": 1, "repair": 1000},
    )  # fmt: skip
    counts = run(scenario).counts
    assert counts["requested"] == 1
    assert counts["accepted"] + counts["failed"] == 1
    assert counts["lost"] == counts["accepted"]


def test_hosts_fail_by_chance_at_their_rate(tmp_path: Path) -> None:
    """Four hosts, each every ten seconds on average, for 500 s; a repair takes next to nothing."""
    scenario = a_scenario(
        tmp_path,
        duration_seconds=500,
        load=[a_stream(end_seconds=0.5)],
        failures={"mean_seconds_between": 10, "repair": 0.001},
    )
    assert run(scenario).counts["hosts_failed"] == pytest.approx(200, rel=0.25)
