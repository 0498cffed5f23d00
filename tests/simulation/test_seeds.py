"""Seeded runs of the whole system: nothing is lost, nothing runs twice, and a seed replays.

They are run by programs of their own: time and threads are the simulation's there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

SEEDS = 20
"""So many stories are told, in about half a minute; `make simulation` tells more."""


def runs(*arguments: str) -> tuple[list[dict[str, Any]], int]:
    """Return what runs found, and the exit code."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.simulation", "--json", *arguments],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines, done.stderr
    return lines, done.returncode


@pytest.fixture(scope="module")
def told() -> tuple[list[dict[str, Any]], int]:
    """Return what the first seeds came to, and the exit code."""
    return runs("--seeds", str(SEEDS), "--jobs", "2")


def test_nothing_is_lost_whatever_fails(told: tuple[list[dict[str, Any]], int]) -> None:
    """Each accepted request ends, guests run once, placement holds what there is."""
    outcomes, code = told
    failed = {outcome["seed"]: outcome["failures"] for outcome in outcomes if outcome["failures"]}
    assert (failed, code, len(outcomes)) == ({}, 0, SEEDS)


def test_a_seed_replays_exactly_and_another_does_not(
    told: tuple[list[dict[str, Any]], int],
) -> None:
    """Another program that runs one seed does the same, to the last message."""
    first, *others = told[0]
    again, _code = runs("--seed", str(first["seed"]))
    assert again == [first]
    assert all(other["trace"] != first["trace"] for other in others)
