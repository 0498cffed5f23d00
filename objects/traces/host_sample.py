"""Samples of the hosts behind one step of a decision: few enough for every trace."""

import numpy as np
from numpy.typing import NDArray

HOSTS_NAMED_MAX = 10
"""Maximum number of hosts that a trace names for each step."""


def evenly_spread(
    positions: NDArray[np.intp], count_max: int = HOSTS_NAMED_MAX
) -> NDArray[np.intp]:
    """Return at most ``count_max`` of the positions, evenly spread over all."""
    if len(positions) <= count_max:
        return positions
    picked = np.arange(count_max) * (len(positions) / count_max)
    return positions[picked.astype(np.intp)]
