"""How much of a resource is handed out for each one that a host has."""

from __future__ import annotations

from collections.abc import Mapping

from oslo_config import cfg

RATIO_OPTIONS = {
    "VCPU": "cpu_allocation_ratio",
    "MEMORY_MB": "ram_allocation_ratio",
    "DISK_GB": "disk_allocation_ratio",
}
"""Resource class -> option; beside each there is ``initial_`` and its name."""


class AllocationRatios:
    """The ratios in force on each host of an agent, safe to use from several threads.

    An explicit option wins over the value in placement, which wins over ``initial_*``.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._in_placement: dict[str, Mapping[str, float]] = {}

    def of(self, host: str) -> dict[str, float]:
        """Return resource class -> ratio."""
        known = self._in_placement.get(host, {})
        return {name: self._one(option, known.get(name)) for name, option in RATIO_OPTIONS.items()}

    def note(self, host: str, ratios: Mapping[str, float]) -> bool:
        """Take over the ratios as they stand in placement; return whether that changed any."""
        before = self.of(host)
        self._in_placement[host] = dict(ratios)
        return self.of(host) != before

    def _one(self, option: str, in_placement: float | None) -> float:
        explicit = self._conf[option]
        if explicit is not None:
            return float(explicit)
        return float(self._conf[f"initial_{option}"] if in_placement is None else in_placement)
