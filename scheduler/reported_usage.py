"""What hosts report as used, and what a request uses up of it, where placement is not asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from objects.flavor import Flavor
from scheduler.usage import Positions, Usage

Figures = dict[str, npt.NDArray[Any]]


def changes_of(flavor: Flavor) -> dict[str, int]:
    """Return how the figures of a host change with each instance; swap is not counted."""
    disk_mb = (flavor.root_gb + flavor.ephemeral_gb) * 1024
    return {
        "vcpus_used": flavor.vcpus,
        "free_ram_mb": -flavor.memory_mb,
        "free_disk_mb": -disk_mb,
        "disk_mb_used": disk_mb,
    }


class ReportedUsage(Usage):
    """The figures of n hosts; one decision's own.

    There are no candidates: a position stands for itself. Everything fits here; whether a host has
    room is for filters to say (RamFilter, CoreFilter, DiskFilter).
    """

    def __init__(self, figures: Figures, changes: dict[str, int]) -> None:
        # Nothing of the base is kept: it has inventories, this has what hosts made of theirs.
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
