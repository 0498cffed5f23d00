"""Seeded stories in a tree of nine zones: nothing is lost, nothing lives twice."""

import pytest

from tests.fixtures.plugins import sampling
from tests.simulation import zone_story

SEEDS = list(sampling.sample(range(1, 11), 10, "zones"))
"""Others with each commit; ``python -m tests.simulation.zone_story`` plays all."""


@pytest.mark.parametrize("seed", SEEDS[:1])
def test_a_minute_of_kills_and_partitions(seed: int) -> None:
    """BZ-66, X3: afterwards each server is in one place or in ERROR, and nothing else is held."""
    assert zone_story.play(seed, seconds=60.0)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 11))
def test_ten_minutes_of_kills_and_partitions(seed: int) -> None:
    """BZ-66: several links are cut and several processes killed in each of them."""
    counts = zone_story.play(seed)
    assert counts["cut"] > 0
    assert counts["killed"] > 0
