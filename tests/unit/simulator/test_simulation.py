"""Whole simulations: laws that hold whatever the scenario says."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from armillary import exception
from simulator.results.outcome import Outcome
from simulator.scenario.files import document_of
from simulator.scenario.policies import read_policies
from simulator.scenario.scenario_errors import BadScenario
from simulator.simulation import simulate
from tests.fixtures.fleets.simulations import a_scenario, a_stream, run, some_hosts, write_policy
from tests.fixtures.plugins.examples import examples

BUSY: dict[str, Any] = {
    "duration_seconds": 30,
    "hosts": [
        some_hosts("a-{1..4}", zone="z1", allocation_ratios={"vcpus": 2}),
        some_hosts("b-{1..2}", zone="z2", cell="cell2", traits=["CUSTOM_FAST"]),
    ],
    "flavors": {
        "small": {"vcpus": 1, "memory_mb": 1024, "disk_gb": 1},
        "large": {"vcpus": 4, "memory_mb": 4096, "extra_specs": {"trait:CUSTOM_FAST": "required"}},
    },
    "images": {"linux": {"properties": {"os_distro": "debian"}}},
    "load": [
        a_stream(
            arrivals={"poisson": 2}, flavors={"small": 5, "large": 1}, images={"linux": 1},
            count=[1, 3], lifetime={"exponential": 20}, group={"policy": "soft-anti-affinity"},
        ),
        a_stream(arrivals={"bursts": {"every_seconds": 20, "requests": 4}}, zones={"z1": 1},
                 lifetime={"uniform": [1, 9]}, group={"policy": "anti-affinity", "requests": 4}),
    ],
    "builds": {"seconds": {"uniform": [0, 3]}, "failure_rate": 0.1, "failing_hosts": ["a-4"]},
    "failures": {"mean_seconds_between": 60, "repair": {"uniform": [1, 10]}, "notice_seconds": 3},
}  # fmt: skip


def assert_conserved(outcome: Outcome) -> None:
    """No instance is counted twice or forgotten."""
    counts = outcome.counts
    outcomes = ("accepted", "refused", "failed", "building")
    assert counts["requested"] == sum(counts[name] for name in outcomes)
    assert counts["accepted"] == sum(counts[name] for name in ("running", "ended", "lost"))


def test_a_busy_simulation_has_everything_in_it(tmp_path: Path) -> None:
    """So that the laws below are about something."""
    outcome = run(a_scenario(tmp_path, **BUSY))
    counts = outcome.counts
    for name in ("accepted", "refused", "retries", "ended", "lost", "running", "hosts_failed"):
        assert counts[name] > 0, name
    assert_conserved(outcome)
    assert outcome.utilisation["MEMORY_MB"]["peak"] <= 1.0
    assert outcome.decisions["count"] == counts["requests"]
    assert sum(entry.count for entry in outcome.refusals) == counts["refused"] + counts["failed"]
    assert len(outcome.series["seconds"]) == 201
    assert {len(values) for values in outcome.series.values()} == {201}


_SECONDS = st.sampled_from([0, 1, 7, {"exponential": 5}, {"uniform": [0, 30]}])


@settings(
    max_examples=examples(12), deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
@given(
    seed=st.integers(0, 2**63 - 1),
    vcpus=st.integers(1, 12),
    lifetime=_SECONDS,
    build=_SECONDS,
    repair=_SECONDS,
    failure_rate=st.sampled_from([0, 0.3, 1]),
    notice=st.sampled_from([0, 2, 50]),
    instances=st.sampled_from(["lost", "kept"]),
    push=st.sampled_from([0, 1, 30]),
)
def test_laws_hold_for_any_scenario(
    seed: int, vcpus: int, lifetime: Any, build: Any, repair: Any, failure_rate: float,
    notice: float, instances: str, push: float,
) -> None:  # fmt: skip
    """Instances are conserved, and no host is over its capacity (the book asserts it)."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = a_scenario(
            Path(folder),
            seed=seed,
            duration_seconds=30,
            hosts=[some_hosts("h-{1..3}", vcpus=vcpus)],
            load=[a_stream(count=[1, 4], lifetime=lifetime, arrivals={"poisson": 1})],
            builds={"seconds": build, "failure_rate": failure_rate},
            failures={"mean_seconds_between": 20, "repair": repair, "notice_seconds": notice,
                      "instances": instances},
            push_interval_seconds=push,
        )  # fmt: skip
        outcome = run(scenario)
    assert_conserved(outcome)
    assert all(part["peak"] <= 1.0 for part in outcome.utilisation.values())
    if instances == "kept":
        assert outcome.counts["lost"] == 0


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["[filter_scheduler]", "host_subset_size = 3", "shuffle_best_same_weighed_hosts = true",
         "[placement]", "randomize_allocation_candidates = true",
         "[scheduler]", "max_placement_results = 2"],
        ["[scheduler]", "driver = chance_scheduler"],
        ["[scheduler]", "driver = caching_scheduler", "periodic_task_interval = 5",
         "[filter_scheduler]", "enabled_filters = ComputeFilter,RamFilter,CoreFilter,DiskFilter"],
    ],
    ids=["defaults", "random", "chance", "caching"],
)  # fmt: skip
@pytest.mark.sampled(every=2)
def test_equal_seeds_have_equal_outcomes(lines: list[str], tmp_path: Path) -> None:
    """Whatever is left to chance, and whichever driver decides; another seed is another story."""
    policy = write_policy(tmp_path, "policy", lines)
    one, same, other = (run(a_scenario(tmp_path, seed=seed, **BUSY), policy) for seed in (5, 5, 6))
    assert one.fingerprint == same.fingerprint
    assert one.fingerprint != other.fingerprint
    assert_conserved(one)


def test_the_seed_matters_where_options_ask_for_chance(tmp_path: Path) -> None:
    """The seed reaches what the options leave to chance."""
    hosts = [some_hosts("h-{1..9}")]
    policy = write_policy(tmp_path, "random", ["[filter_scheduler]", "host_subset_size = 9"])
    stories = {run(a_scenario(tmp_path, hosts=hosts, seed=seed), policy).story for seed in range(3)}
    assert len(stories) == 3


def test_a_policy_compared_with_itself_shows_no_difference(tmp_path: Path) -> None:
    """Neither in counts nor in any measure."""
    policy = write_policy(tmp_path, "p", ["[filter_scheduler]", "host_subset_size = 2"])
    scenario = a_scenario(tmp_path, **BUSY)
    first, second = (
        simulate(scenario, each, lambda done, counts: None)
        for each in read_policies([], [policy, policy])
    )
    assert first.fingerprint == second.fingerprint
    differences = document_of(scenario, [first, second])["differences"]
    assert {value for _name, value in _leaves(differences)} == {0}


def _leaves(tree: Any, name: str = "") -> list[tuple[str, float]]:
    if not isinstance(tree, dict):
        return [(name, tree)]
    return [leaf for key, item in tree.items() for leaf in _leaves(item, f"{name}.{key}")]


def test_spreading_and_packing_come_out_as_they_should(tmp_path: Path) -> None:
    """Packed hosts are full or empty, spread ones alike."""
    scenario = a_scenario(tmp_path, load=[a_stream(arrivals={"fixed": 0.6})])
    weigh = ["[filter_scheduler]", "ram_weight_multiplier = {0}", "cpu_weight_multiplier = {0}"]
    spread, pack = (
        run(scenario, write_policy(tmp_path, name, [line.format(sign) for line in weigh]))
        for name, sign in (("spread", 1.0), ("pack", -1.0))
    )
    assert spread.measures["empty_hosts"]["end"] == 0
    assert pack.measures["empty_hosts"]["end"] == 2
    assert spread.measures["load gini"]["end"] == 0
    assert pack.measures["load gini"]["end"] > 0.5


def test_zones_are_kept_to(tmp_path: Path) -> None:
    """What does not fit into the zone is refused though there is room elsewhere."""
    hosts = [some_hosts("a", vcpus=2, zone="z1"), some_hosts("b", zone="z2")]
    counts = run(a_scenario(tmp_path, hosts=hosts, load=[a_stream(zones={"z1": 1})])).counts
    assert (counts["accepted"], counts["refused"]) == (2, 18)


def test_anti_affinity_is_kept_to(tmp_path: Path) -> None:
    """Four hosts take four members of a group, and no fifth."""
    load = [a_stream(group={"policy": "anti-affinity", "requests": 5})]
    counts = run(a_scenario(tmp_path, load=load)).counts
    assert (counts["accepted"], counts["refused"]) == (16, 4)


def test_the_scheduler_sees_hosts_as_they_were_at_the_last_push(tmp_path: Path) -> None:
    """A limit on what runs on a host is overrun until a report says what left it."""
    hosts = [some_hosts("h", vcpus=64, memory_mb=65536)]
    policy = write_policy(
        tmp_path, "few",
        ["[filter_scheduler]", "enabled_filters = NumInstancesFilter",
         "max_instances_per_host = 2", "[scheduler]", "claimed_instance_seconds = 3600"],
    )  # fmt: skip
    load = [a_stream(lifetime=1.5)]
    fresh, stale = (
        run(a_scenario(tmp_path, hosts=hosts, load=load, push_interval_seconds=seconds), policy)
        for seconds in (0, 10)
    )
    assert fresh.counts["refused"] == 0
    assert stale.counts["refused"] > 5


def test_a_flavor_that_no_request_could_name_is_refused(tmp_path: Path) -> None:
    """Before anything is simulated, with its place in the file."""
    flavor = {"vcpus": 1, "memory_mb": 1, "extra_specs": {"hw:cpu_policy": "mine"}}
    with pytest.raises(BadScenario, match=r"flavors\.small: .*hw:cpu_policy .* 'mine'"):
        run(a_scenario(tmp_path, flavors={"small": flavor}))


def test_a_plugin_that_is_not_installed_is_said(tmp_path: Path) -> None:
    """As a scheduler would say it at its start."""
    policy = write_policy(tmp_path, "p", ["[filter_scheduler]", "enabled_filters = NoFilter"])
    with pytest.raises(exception.PluginNotFound, match="NoFilter"):
        run(a_scenario(tmp_path), policy)
