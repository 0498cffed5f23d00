"""NUMA and device fit of a guest, evaluated for all hosts together."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from objects import numa
from objects.numa.cell_columns import (
    BASE,
    PAGES,
    THREADS,
    Facts,
    can_serve,
    facts_of,
    is_countable,
    needed,
)
from objects.numa.fitting import demand_key, is_search_exhaustive
from objects.pci import pci
from scheduler.hosts.derived_columns import Derived, HostClasses, Reports, once_per_class
from scheduler.hosts.host_table import HostTable, Mask, Numbers
from scheduler.hosts.numa.numa_usage import NumaTopologyCache
from scheduler.hosts.usage import Positions

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


_BITS_MAX = 62


class NumaFit:
    """Runs the exact fit once per class of equivalent hosts. Thread-safe.

    Hosts are equivalent if the same host cells can serve the same guest cells, which array
    operations determine. For a guest with devices, the ids and sockets of the cells and the device
    pools must be equal, too. The exact fit then has the same result for all hosts of a class.
    """

    def __init__(self, readings: NumaTopologyCache) -> None:
        self._columns = NumaColumns(readings)
        self._pools = HostClasses("pci_stats", repr)

    def mask(
        self,
        hosts: HostTable,
        guest: numa.InstanceTopology,
        requests: Sequence[pci.PciRequest],
        fits: Callable[[int], bool],
    ) -> Mask:
        """Return which hosts fit; ``fits`` is the exact check of the host at a position."""
        facts, layouts = self._columns.read(hosts, needed(guest))
        ratios = [np.asarray(hosts.column(f"{name}_allocation_ratio")) for name in ("cpu", "ram")]
        different = {demand_key(cell, guest): cell for cell in guest.cells}
        serves = [
            can_serve(facts, cell, guest, cpu_ratio=ratios[0], ram_ratio=ratios[1])
            for cell in different.values()
        ]
        mask = np.all([each.any(axis=0) for each in serves], axis=0)
        # With a ratio of 0 the host's own ratio applies, so these hosts are checked individually.
        is_single = (layouts == NOT_COUNTABLE) | (ratios[0] == 0) | (ratios[1] == 0)
        positions = np.flatnonzero(mask & ~is_single)
        kinds = self._kinds(hosts, guest, requests, serves, layouts, positions)
        mask[positions] = once_per_class(kinds, lambda index: fits(int(positions[index])))
        for position in np.flatnonzero(is_single).tolist():
            mask[position] = fits(position)
        return mask

    def _kinds(
        self,
        hosts: HostTable,
        guest: numa.InstanceTopology,
        requests: Sequence[pci.PciRequest],
        serves: Sequence[Mask],
        layouts: Numbers,
        positions: Positions,
    ) -> Numbers:
        """Return a class number for each position; equivalent hosts have the same number."""
        cells = len(serves[0])
        kinds_of_cells = cells if requests else min(cells, 2 ** len(serves) - 1)
        if not is_search_exhaustive(len(guest.cells), kinds_of_cells):
            return np.arange(len(positions))
        kinds = _alike(np.concatenate(serves)[:, positions])
        if requests:
            pools, _numbers = self._pools.read(hosts)
            kinds = _joined(_joined(kinds, layouts[positions]), pools[positions])
        return kinds


def _alike(bits: Mask) -> Numbers:
    """Return a number for each column; equal columns have equal numbers."""
    kinds: Numbers = np.zeros(bits.shape[1], np.int64)
    for start in range(0, len(bits), _BITS_MAX):
        some = bits[start : start + _BITS_MAX]
        more = (1 << np.arange(len(some))) @ some
        kinds = more if start == 0 else _joined(kinds, more)
    return kinds


def _joined(first: Numbers, second: Numbers) -> Numbers:
    """Return numbers that are equal where both inputs are equal."""
    first, second = (np.unique(each, return_inverse=True)[1] for each in (first, second))
    found: Numbers = first * (int(second.max(initial=0)) + 1) + second
    return found
