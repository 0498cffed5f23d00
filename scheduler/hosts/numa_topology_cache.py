"""Cache of parsed NUMA topologies by reported wire form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from objects.numa import HostTopology
from scheduler.hosts.numa_usage import HostTopologyDict, host_topology

_REMEMBERED_MAX = 4096


class NumaTopologyCache:
    """Caches the topology parsed from a wire form, by object identity; equal forms share one.

    A report remains the same object until the host reports again, so only new reports are parsed.
    The cache is cleared when full. Thread-safe: at worst a report is parsed twice.
    """

    def __init__(self) -> None:
        self._by_identity: dict[int, tuple[Mapping[str, Any], HostTopology | None]] = {}
        self._by_text: dict[str, HostTopology | None] = {}

    def of(self, plain: Mapping[str, Any] | None) -> HostTopology | None:
        """Return the topology of a host; None if it reports none."""
        if plain is None:
            return None
        if isinstance(plain, HostTopologyDict):  # created for this decision only
            return plain.topology
        known = self._by_identity.get(id(plain))
        if known is None:
            if len(self._by_identity) >= _REMEMBERED_MAX:
                self._by_identity, self._by_text = {}, {}
            text = repr(plain)
            if text not in self._by_text:
                self._by_text[text] = host_topology(plain)
            # Keep a reference to the wire form, so that its id cannot be reused by another.
            known = self._by_identity[id(plain)] = (plain, self._by_text[text])
        return known[1]
