"""Tie-breaking between hosts of equal weight: a random order that is fixed per process.

Several schedulers see the same hosts. If all took equal hosts in placement's order, they would
select the same ones at the same time; with an order of its own, each starts at a different host.
Because the order is fixed, a process fills equal hosts one after the other instead of all a little.
With a seed, the order depends on the names of the hosts alone and is the same in all processes.
"""

import random
import threading
import zlib
from collections.abc import Callable, Iterable

import numpy as np

from scheduler.hosts.usage import Positions

_ROWS_MIN = 1024

_NamesOf = Callable[[Positions], Iterable[str]]


class TieOrder:
    """Orders rows of the host store. Thread-safe; the same random source gives the same order."""

    def __init__(self, rng: random.Random, seed: int | None = None) -> None:
        self._rng = rng
        self._seed = seed
        self._lock = threading.Lock()
        self._drawn: list[float] = []
        self._order: Positions = np.empty(0, dtype=np.int64)

    def arranged(self, rows: Positions, names_of: _NamesOf) -> Positions:
        """Return indexes into ``rows``, which must be unique, in this process's order.

        ``names_of`` returns the names of the nodes in some rows.
        """
        if self._seed is not None:
            keys = [(zlib.crc32(f"{self._seed}/{name}".encode()), name) for name in names_of(rows)]
            return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
        order = self._order_of(int(rows.max(initial=-1)) + 1)
        place_of = np.full(len(order), -1, dtype=np.int64)
        place_of[rows] = np.arange(len(rows))
        places = place_of[order]
        arranged: Positions = places[places >= 0]
        return arranged

    def _order_of(self, count: int) -> Positions:
        """Return the order of at least ``count`` rows. Growing keeps the order of earlier rows.

        More numbers are drawn than needed, because hosts are added one by one.
        """
        if count > len(self._order):
            with self._lock:
                more = max(_ROWS_MIN, 2 * count) - len(self._drawn)
                self._drawn += [self._rng.random() for _ in range(more)]
                self._order = np.argsort(np.array(self._drawn), kind="stable")
        return self._order
