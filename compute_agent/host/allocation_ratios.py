"""Allocation ratios of a host's resources."""

from collections.abc import Mapping

from oslo_config import cfg

RATIO_OPTIONS = {
    "VCPU": "cpu_allocation_ratio",
    "MEMORY_MB": "ram_allocation_ratio",
    "DISK_GB": "disk_allocation_ratio",
}
"""Resource class -> option; each has a second option with the prefix ``initial_``."""


class AllocationRatios:
    """The effective allocation ratios of each host of an agent. Thread-safe.

    An explicit option takes precedence over the value in placement, which takes precedence over
    ``initial_*``.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._in_placement: dict[str, Mapping[str, float]] = {}

    def of(self, host: str) -> dict[str, float]:
        """Return resource class -> ratio."""
        known = self._in_placement.get(host, {})
        return {name: self._one(option, known.get(name)) for name, option in RATIO_OPTIONS.items()}

    def note(self, host: str, ratios: Mapping[str, float]) -> bool:
        """Store the ratios found in placement; return whether the effective ratios changed."""
        before = self.of(host)
        self._in_placement[host] = dict(ratios)
        return self.of(host) != before

    def _one(self, option: str, in_placement: float | None) -> float:
        explicit = self._conf[option]
        if explicit is not None:
            return float(explicit)
        return float(self._conf[f"initial_{option}"] if in_placement is None else in_placement)
