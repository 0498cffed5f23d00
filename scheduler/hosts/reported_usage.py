"""Resource usage from host reports, for drivers that do not query placement."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from objects.flavor import Flavor
from scheduler.hosts.usage import Positions, Usage

Figures = dict[str, npt.NDArray[Any]]


def changes_of(flavor: Flavor) -> dict[str, int]:
    """Return how an instance changes a host's reported amounts; swap is not counted."""
    disk_mb = (flavor.root_gb + flavor.ephemeral_gb) * 1024
    return {
        "vcpus_used": flavor.vcpus,
        "free_ram_mb": -flavor.memory_mb,
        "free_disk_mb": -disk_mb,
        "disk_mb_used": disk_mb,
    }


class ReportedUsage(Usage):
    """The reported amounts of n hosts, owned by one decision.

    There are no candidates: a position stands for itself. Every instance fits; filters check the
    capacity of hosts (RamFilter, CoreFilter, DiskFilter).
    """

    def __init__(self, figures: Figures, changes: dict[str, int]) -> None:
        # Does not call the base class, which needs inventories; this has reported amounts.
        self._figures = {name: np.array(figures[name]) for name in changes}
        self._changes = changes

    def take(self, positions: Positions) -> ReportedUsage:
        figures = {name: column[positions] for name, column in self._figures.items()}
        return ReportedUsage(figures, self._changes)

    def attributes(self) -> Figures:
        return {name: column.copy() for name, column in self._figures.items()}

    def attributes_at(self, position: int) -> dict[str, Any]:
        return {name: column[position] for name, column in self._figures.items()}

    def candidate_at(self, position: int) -> int:
        return position

    def add(self, position: int) -> int:
        for name, change in self._changes.items():
            self._figures[name][position] += change
        return position

    def subtract(self, position: int, candidate: int) -> None:
        for name, change in self._changes.items():
            self._figures[name][position] -= change

    def refuse(self, position: int, candidate: int) -> bool:
        return False

    def fits(self, position: int) -> bool:
        return True
