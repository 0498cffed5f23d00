"""NUMA cells of all hosts as arrays, updated when a host's report changes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from objects.numa.cell_columns import (
    BASE,
    PAGES,
    THREADS,
    Facts,
    facts_of,
    is_countable,
)
from scheduler.hosts.derived_columns import Derived, Reports
from scheduler.hosts.host_table import HostTable, Numbers
from scheduler.hosts.numa_topology_cache import NumaTopologyCache

NOT_COUNTABLE = -1
"""The layout of a host that must be checked individually."""

_SPARE = 1024
_WIDTH_MIN = 2

_Layouts = dict[tuple[tuple[int, int | None], ...], int]
_State = tuple[int, _Layouts, Mapping[Facts, Derived]]


class NumaColumns:
    """Capacity and usage of NUMA cells, and the layout of each host's cells. Thread-safe.

    A layout is a number for the ids and sockets of a host's cells; hosts without cells have 0.
    """

    def __init__(self, readings: NumaTopologyCache) -> None:
        self._readings = readings
        self._reports = Reports("numa_topology")
        self._widest = _WIDTH_MIN
        self._state = self._begun()

    def read(
        self, hosts: HostTable, wanted: Sequence[Facts]
    ) -> tuple[Mapping[int, Numbers], Numbers]:
        """Return [cell, host] for ``wanted`` and the basic facts, and the hosts' layouts."""
        hosts_max = len(hosts.snapshot.columns["numa_topology"])
        while True:
            width, layouts, derived = self._state
            found = self._reports.numbers(hosts, derived[BASE])
            # Start over if a host has more cells than the arrays, or if most known layouts belong
            # to removed hosts.
            if self._widest <= width and len(layouts) <= 2 * hosts_max + _SPARE:
                break
            self._state = self._begun()
        columns = dict(zip(BASE, found[:-1], strict=True))
        for facts in wanted:
            if facts != BASE:
                more = self._reports.numbers(hosts, derived[facts])
                columns.update(zip(facts, more, strict=True))
        return columns, found[-1, 0]

    def _begun(self) -> _State:
        width, layouts = self._widest, _Layouts()
        base = functools.partial(self._base, width=width, layouts=layouts)
        derived = {BASE: _derived(base, len(BASE) + 1, width)}
        for facts in (THREADS, PAGES):
            more = functools.partial(self._facts, facts=facts, width=width)
            derived[facts] = _derived(more, len(facts), width)
        return width, layouts, derived

    def _base(
        self, plain: Mapping[str, Any] | None, *, width: int, layouts: _Layouts
    ) -> list[list[int]]:
        """Return the basic facts and the layout, repeated for each cell."""
        host = self._readings.of(plain)
        facts = self._facts(plain, facts=BASE, width=width)
        if host is None:
            return [*facts, [0] * width]
        if not is_countable(host):
            return [*facts, [NOT_COUNTABLE] * width]
        self._widest = max(self._widest, 1 << (len(host.cells) - 1).bit_length())
        layout = tuple((cell.id, cell.socket) for cell in host.cells)
        return [*facts, [layouts.setdefault(layout, len(layouts) + 1)] * width]

    def _facts(
        self, plain: Mapping[str, Any] | None, *, facts: Facts, width: int
    ) -> list[list[int]]:
        host = self._readings.of(plain)
        if host is None or len(host.cells) > width or not is_countable(host):
            return [[0] * width] * len(facts)
        return facts_of(host, facts, width)


def _derived(derive: Callable[[Any], list[list[int]]], facts: int, width: int) -> Derived:
    return Derived(derive, dtype=np.int64, shape=(facts, width))
