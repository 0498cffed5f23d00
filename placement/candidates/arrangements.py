"""Arrangements: the ways to take some of n equal things in order, as rows of an array."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from placement.columns import Numbers

Picks = Sequence[tuple[int, int]]
"""For each class of equal things: how many there are, how many of them are taken."""

_WHOLE_MAX = 2**62


def count_arrangements(picks: Picks) -> int:
    """Return how many ways there are, of all classes together."""
    return math.prod(math.perm(there, taken) for there, taken in picks)


def first_arrangements(picks: Picks, count: int) -> list[Numbers]:
    """Return the first ways in lexicographic order: for each class an array (count, taken).

    The very first takes the things as they stand.
    """
    size = count_arrangements(picks)
    numbers = np.arange(count, dtype=np.int64)
    found = []
    for there, taken in picks:
        size //= math.perm(there, taken)
        mine, numbers = _divided(numbers, size)
        found.append(_arranged(there, taken, mine))
    return found


def _arranged(there: int, taken: int, numbers: Numbers) -> Numbers:
    """Return the arrangements of these numbers within one class."""
    digits = np.empty((len(numbers), taken), np.int64)
    for at in range(taken):
        block = math.perm(there - at - 1, taken - at - 1)
        digits[:, at], numbers = _divided(numbers, block)
    for at in range(taken - 2, -1, -1):  # a digit counts only what is not taken yet
        later = digits[:, at + 1 :]
        later += later >= digits[:, at : at + 1]
    return digits


def _divided(numbers: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """Return quotient and rest; no number is as large as a size that needs more than 64 bits."""
    if size > _WHOLE_MAX:
        return np.zeros_like(numbers), numbers
    return numbers // size, numbers % size
