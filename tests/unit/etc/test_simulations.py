"""The example scenarios and policies are read without a mistake, and their beginning runs."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from armillary.cli.simulate.policies import read_policies
from armillary.cli.simulate.scenario_file import read_scenario
from tests.fixtures.simulations import run

SIMULATIONS = Path(__file__).parents[3] / "etc" / "simulations"
SCENARIOS = sorted(SIMULATIONS.glob("*.yaml"))
POLICIES = sorted(SIMULATIONS.glob("*.conf"))


def test_there_are_some() -> None:
    """Two of each."""
    assert len(SCENARIOS) == len(POLICIES) == 2


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_beginning_of_a_scenario_runs(path: Path) -> None:
    """The whole takes too long for a test."""
    scenario = dataclasses.replace(read_scenario(path), duration_seconds=200.0)
    counts = run(scenario).counts
    assert counts["accepted"] > 0
    assert counts["refused"] == 0


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.stem)
def test_a_policy_has_no_misspelt_option(path: Path) -> None:
    """It would have no effect."""
    (policy,) = read_policies([path], [])
    assert policy.warnings == []
