"""The NUMA topologies of hosts, read once from the wire form in which they were reported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from objects.numa import HostTopology
from scheduler.cell_usage import HostTopologyDict, host_topology

_REMEMBERED_MAX = 4096


class NumaReadings:
    """Remembers what a wire form, by its identity, was read as; equal ones are one topology.

    What a host reports stays the same object until it reports again, so that decisions read what is
    new. Begins anew when full. Thread-safe: at worst, one reads twice.
    """

    def __init__(self) -> None:
        self._by_identity: dict[int, tuple[Mapping[str, Any], HostTopology | None]] = {}
        self._by_text: dict[str, HostTopology | None] = {}

    def of(self, plain: Mapping[str, Any] | None) -> HostTopology | None:
        """Return the topology of a host, None when it reports none."""
        if plain is None:
            return None
        if isinstance(plain, HostTopologyDict):  # made for this decision only
            return plain.topology
        known = self._by_identity.get(id(plain))
        if known is None:
            if len(self._by_identity) >= _REMEMBERED_MAX:
                self._by_identity, self._by_text = {}, {}
            text = repr(plain)
            if text not in self._by_text:
                self._by_text[text] = host_topology(plain)
            # The wire form is kept, too: as long as it is here no other has its identity.
            known = self._by_identity[id(plain)] = (plain, self._by_text[text])
        return known[1]
