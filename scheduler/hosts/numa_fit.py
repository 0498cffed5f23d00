"""NUMA and device fit of a guest, evaluated for all hosts at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from objects import numa
from objects.numa.cell_columns import can_serve, needed
from objects.numa.fitting import demand_key, is_search_exhaustive
from objects.pci import pci
from scheduler.hosts.derived_columns import HostClasses, once_per_class
from scheduler.hosts.host_table import HostTable, Mask, Numbers
from scheduler.hosts.numa_columns import NOT_COUNTABLE, NumaColumns
from scheduler.hosts.numa_topology_cache import NumaTopologyCache
from scheduler.hosts.usage import Positions

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
