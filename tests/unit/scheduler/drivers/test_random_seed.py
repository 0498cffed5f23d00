"""``[scheduler] random_seed``: equal requests on equal fleets find equal hosts everywhere."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import random
from tests.fleets import a_driver, scheduling_conf, some_hosts
from tests.unit.scheduler.drivers.drivers import select

for seed in (7, 8, None):
    conf = scheduling_conf(
        scheduler__random_seed=seed,
        filter_scheduler__host_subset_size=5,
        filter_scheduler__shuffle_best_same_weighed_hosts=True,
    )
    driver = a_driver(some_hosts(40), conf=conf, seed=random.SystemRandom().randrange(2**32))
    for _ in range(12):
        print(*(each.service_host for row in select(driver).selections() for each in row))
"""
REQUESTS = 12


def choices() -> list[list[str]]:
    """Return hosts and alternates of requests, decided by schedulers in a new process.

    Those with seed 7, with seed 8, and without one.
    """
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[4],
    )  # fmt: skip
    lines = ended.stdout.splitlines()
    assert len(lines) == 3 * REQUESTS
    return [lines[first : first + REQUESTS] for first in range(0, len(lines), REQUESTS)]


def test_with_a_seed_two_processes_choose_the_same_hosts() -> None:
    """And with another seed, or without one, others."""
    first, other, without = choices()
    again, _, again_without = choices()
    assert first == again
    assert first not in (other, without)
    assert without != again_without
