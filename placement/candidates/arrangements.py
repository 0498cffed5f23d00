"""Arrangements: ordered selections from equal items, as rows of an array."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from placement.providers.columns import Numbers

Picks = Sequence[tuple[int, int]]
"""For each class of equal items: how many exist, and how many of them are taken."""

_WHOLE_MAX = 2**62


def count_arrangements(picks: Picks) -> int:
    """Return the number of arrangements over all classes."""
    return math.prod(math.perm(there, taken) for there, taken in picks)


def first_arrangements(picks: Picks, count: int) -> list[Numbers]:
    """Return the first arrangements in lexicographic order: per class an array (count, taken).

    The very first one takes the items in their given order.
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
    """Return the arrangements with these numbers within one class."""
    digits = np.empty((len(numbers), taken), np.int64)
    for at in range(taken):
        block = math.perm(there - at - 1, taken - at - 1)
        digits[:, at], numbers = _divided(numbers, block)
    for at in range(taken - 2, -1, -1):  # a digit counts only items that are not taken yet
        later = digits[:, at + 1 :]
        later += later >= digits[:, at : at + 1]
    return digits


def _divided(numbers: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """Return quotient and remainder; no number reaches a size that needs more than 64 bits."""
    if size > _WHOLE_MAX:
        return np.zeros_like(numbers), numbers
    return numbers // size, numbers % size
