"""Seeded runs of the whole system: nothing is lost, nothing runs twice, and a seed replays.

They are run by programs of their own: time and threads are the simulation's there.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.plugins import sampling

pytestmark = pytest.mark.sampled_tests(every=2)

EVERY = 1 if sampling.TAKES_ALL else 40
SEEDS = list(sampling.sample(range(1, 81), EVERY, "simulation"))
"""Others with each commit; `make simulation` tells all of these stories, and more."""
REPEAT_SEEDS = list(sampling.sample(range(1, 41), EVERY, "repeats"))
"""Seeds of runs in which every message arrives two or three times."""
ROOT = Path(__file__).parents[2]


class Program:
    """A running simulation, and what its runs came to so far."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._log = folder / "simulation.log"
        self._outcomes: dict[int, dict[str, Any]] = {}
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", "tests.simulation", "--json", *arguments],
                stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT,
            )  # fmt: skip

    def outcome(self, seed: int) -> dict[str, Any]:
        """Return what a seed came to, when its run is over; they end in any order."""
        assert self.process.stdout is not None
        while seed not in self._outcomes:
            line = self.process.stdout.readline()
            assert line, f"seed {seed} came to no end:\n{self._log.read_text()}"
            outcome = json.loads(line)
            self._outcomes[outcome["seed"]] = outcome
        return self._outcomes[seed]

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Lend a program that runs all seeds."""
    program = Program(
        tmp_path_factory.mktemp("seeds"),
        *("--first", f"{SEEDS[0]}", "--seeds", f"{len(SEEDS)}", "--step", f"{EVERY}", "--jobs=2"),
    )
    yield program
    program.end()


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Lend a program that runs seeds in which every message is repeated."""
    program = Program(
        tmp_path_factory.mktemp("repeats"),
        *("--repeats", "--first", f"{REPEAT_SEEDS[0]}", "--seeds", f"{len(REPEAT_SEEDS)}"),
        *("--step", f"{EVERY}", "--jobs=2"),
    )
    yield program
    program.end()


@pytest.mark.parametrize("seed", REPEAT_SEEDS)
def test_nothing_is_done_twice_when_every_message_comes_two_or_three_times(
    repeated: Program, seed: int
) -> None:
    """Late, and in another order; answers, too. Processes are killed and cut off meanwhile."""
    assert repeated.outcome(seed)["failures"] == []


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_whatever_fails(told: Program, seed: int) -> None:
    """Each accepted request ends, guests run once, placement holds what there is."""
    assert told.outcome(seed)["failures"] == []


def test_a_seed_replays_exactly_and_another_does_not(told: Program, tmp_path: Path) -> None:
    """Another program that runs one seed does the same, to the last message."""
    seed, *others = SEEDS
    first = told.outcome(seed)
    again = Program(tmp_path, "--seed", f"{seed}")
    assert again.outcome(seed) == first
    again.end()
    assert all(told.outcome(other)["trace"] != first["trace"] for other in others)


def test_the_program_says_that_all_is_well(told: Program) -> None:
    """By its exit code, after it has run each seed."""
    for seed in SEEDS:
        told.outcome(seed)
    assert told.process.wait() == 0
