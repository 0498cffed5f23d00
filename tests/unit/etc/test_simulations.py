"""The example scenarios and policies are read without a mistake, and their beginning runs."""

import dataclasses
from pathlib import Path

import pytest

from simulator.scenario.policies import read_policies
from simulator.scenario.scenario_file import read_scenario
from simulator.zones.simulation import simulate_zones
from tests.fixtures.fleets.simulations import run

SIMULATIONS = Path(__file__).parents[3] / "etc" / "simulations"
TREES = sorted(SIMULATIONS.glob("zones-*.yaml"))
SCENARIOS = sorted({*SIMULATIONS.glob("*.yaml")}.difference(TREES))
POLICIES = sorted(SIMULATIONS.glob("*.conf"))


def test_there_are_some() -> None:
    """Two of each."""
    assert len(SCENARIOS) == len(TREES) == len(POLICIES) == 2


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_beginning_of_a_scenario_runs(path: Path) -> None:
    """The whole takes too long for a test."""
    scenario = dataclasses.replace(read_scenario(path), duration_seconds=200.0)
    counts = run(scenario).counts
    assert counts["accepted"] > 0
    assert counts["refused"] == 0


@pytest.mark.parametrize("path", TREES, ids=lambda path: path.stem)
@pytest.mark.sampled(every=2)
def test_the_beginning_of_a_small_tree_runs(path: Path) -> None:
    """With one host of each kind in a zone, and fewer zones."""
    scenario = dataclasses.replace(
        (read := read_scenario(path)),
        duration_seconds=30.0,
        shapes=[dataclasses.replace(shape, names=shape.names[:1]) for shape in read.shapes],
    )
    assert scenario.tree is not None
    tree = dataclasses.replace(scenario.tree, widths=(2, 2), compares_with_flat=True)
    (policy,) = read_policies([], [])
    outcome = simulate_zones(scenario, tree, policy, lambda done, counts: None)
    assert outcome.counts["accepted"] > 0
    assert outcome.flat is not None
    assert outcome.flat.same_first == 1.0


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.stem)
def test_a_policy_has_no_misspelt_option(path: Path) -> None:
    """It would have no effect."""
    (policy,) = read_policies([path], [])
    assert policy.warnings == []
