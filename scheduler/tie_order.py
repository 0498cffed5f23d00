"""The order in which a process takes hosts of equal weight: random, drawn once for each host.

Several schedulers see the same fleet. If all took equal hosts in placement's order, all would
choose the same ones at the same time; with an order of its own, each begins elsewhere. As the order
stays, one process fills equal hosts one after the other, and not all of them a little.
"""

from __future__ import annotations

import random
import threading

import numpy as np

from scheduler.usage import Positions

_ROWS_MIN = 1024


class TieOrder:
    """Orders rows of the fleet. Thread-safe; the same dice give the same order."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._lock = threading.Lock()
        self._drawn: list[float] = []
        self._order: Positions = np.empty(0, dtype=np.int64)

    def arranged(self, rows: Positions) -> Positions:
        """Return indexes into ``rows`` (each at most once there), in the order of this process."""
        order = self._order_of(int(rows.max(initial=-1)) + 1)
        place_of = np.full(len(order), -1, dtype=np.int64)
        place_of[rows] = np.arange(len(rows))
        places = place_of[order]
        arranged: Positions = places[places >= 0]
        return arranged

    def _order_of(self, count: int) -> Positions:
        """Return the order of so many rows or more. A longer one has the former ones as they were.

        More are drawn than are asked for: a fleet grows host by host.
        """
        if count > len(self._order):
            with self._lock:
                more = max(_ROWS_MIN, 2 * count) - len(self._drawn)
                self._drawn += [self._dice.random() for _ in range(more)]
                self._order = np.argsort(np.array(self._drawn), kind="stable")
        return self._order
