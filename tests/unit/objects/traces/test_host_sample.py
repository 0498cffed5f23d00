"""Samples of positions: bounded, and spread over all of them."""

import numpy as np

from objects.traces.host_sample import HOSTS_NAMED_MAX, evenly_spread


def test_few_positions_are_all_in_the_sample() -> None:
    """None is left out without need."""
    assert evenly_spread(np.array([3, 5])).tolist() == [3, 5]


def test_many_positions_are_sampled_from_the_first_to_the_last_part() -> None:
    """In order, each once."""
    found = evenly_spread(np.arange(1000)).tolist()
    assert found == [*range(0, 1000, 1000 // HOSTS_NAMED_MAX)]
