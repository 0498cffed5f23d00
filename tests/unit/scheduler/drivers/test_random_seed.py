"""``[scheduler] random_seed``: equal requests on equal fleets find equal hosts everywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import random
from tests.fleets import a_driver, scheduling_conf, some_hosts
from tests.unit.scheduler.drivers.drivers import select

conf = scheduling_conf(
    scheduler__random_seed={seed},
    filter_scheduler__host_subset_size=5,
    filter_scheduler__shuffle_best_same_weighed_hosts=True,
)
driver = a_driver(some_hosts(40), conf=conf, seed=random.SystemRandom().randrange(2**32))
for _ in range(12):
    print(*(each.service_host for row in select(driver).selections() for each in row))
"""


def choices(seed: int | None) -> str:
    """Return hosts and alternates of a few requests, decided by a scheduler in a new process."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(seed=seed)],
        capture_output=True, text=True, check=True, timeout=120, cwd=Path(__file__).parents[4],
    )  # fmt: skip
    return ended.stdout


def test_with_a_seed_two_processes_choose_the_same_hosts() -> None:
    """And with another seed, or without one, others."""
    first, again, other, without = (choices(seed) for seed in (7, 7, 8, None))
    assert len(first.splitlines()) == 12
    assert first == again
    assert len({first, other, without}) == 3
