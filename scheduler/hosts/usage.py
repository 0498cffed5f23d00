"""Resource usage of candidates: from placement, plus the selections of a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from objects.allocation_candidates import AllocationCandidates, AllocationRequest

Positions = npt.NDArray[np.int64]


def _of_vcpu(total: Any, reserved: Any, used: Any, ratio: Any) -> dict[str, Any]:
    return {
        "vcpus_total": total,
        "vcpus_used": used + reserved,
        "cpu_allocation_ratio": ratio,
    }


def _of_memory_mb(total: Any, reserved: Any, used: Any, ratio: Any) -> dict[str, Any]:
    return {
        "total_usable_ram_mb": total,
        "free_ram_mb": total - reserved - used,
        "ram_allocation_ratio": ratio,
    }


def _of_disk_gb(total: Any, reserved: Any, used: Any, ratio: Any) -> dict[str, Any]:
    return {
        "total_usable_disk_gb": total,
        "free_disk_mb": (total - reserved - used) * 1024,
        "disk_mb_used": (used + reserved) * 1024,
        "disk_allocation_ratio": ratio,
    }


# Host attributes derived from an inventory and its usage, for one host or arrays.
_ATTRIBUTES_OF: dict[str, Callable[[Any, Any, Any, Any], dict[str, Any]]] = {
    "VCPU": _of_vcpu,
    "MEMORY_MB": _of_memory_mb,
    "DISK_GB": _of_disk_gb,
}


class Usage:
    """Requested resources on n hosts as (n, k) arrays for k classes; owned by one decision.

    Each host is represented by one candidate of placement's response, by index.
    """

    def __init__(
        self,
        classes: list[str],
        amounts: npt.NDArray[np.int64],
        *,
        candidates: Positions,
        total: npt.NDArray[np.int64],
        reserved: npt.NDArray[np.int64],
        used: npt.NDArray[np.int64],
        ratio: npt.NDArray[np.float64],
    ) -> None:
        self._classes = classes
        self._amounts = amounts
        self._candidates = candidates
        self._total = total
        self._reserved = reserved
        self._used = used
        self._ratio = ratio
        self._capacity: npt.NDArray[np.float64] | None = None
        by_all = amounts if amounts.ndim == 1 else amounts.min(axis=0, initial=1)
        self._known = [
            (index, _ATTRIBUTES_OF[name])
            for index, name in enumerate(classes)
            if name in _ATTRIBUTES_OF and by_all[index]
        ]

    @classmethod
    def of_candidates(cls, candidates: AllocationCandidates, chosen: Positions) -> Self:
        """Return the usage of some candidates, by index."""
        return cls(
            candidates.resource_classes,
            candidates.amounts,
            candidates=chosen,
            total=candidates.total[chosen],
            reserved=candidates.reserved[chosen],
            used=candidates.used[chosen],
            ratio=candidates.ratio[chosen],
        )

    def take(self, positions: Positions) -> Usage:
        """Return the usage of some of these hosts."""
        return Usage(
            self._classes,
            self._amounts,
            candidates=self._candidates[positions],
            total=self._total[positions],
            reserved=self._reserved[positions],
            used=self._used[positions],
            ratio=self._ratio[positions],
        )

    def attributes(self) -> dict[str, npt.NDArray[Any]]:
        """Return the derived host attributes, one array each."""
        columns: dict[str, npt.NDArray[Any]] = {}
        for index, derive in self._known:
            derived = derive(
                self._total[:, index],
                self._reserved[:, index],
                self._used[:, index],
                self._ratio[:, index],
            )
            columns.update({name: np.array(column) for name, column in derived.items()})
        return columns

    def attributes_at(self, position: int) -> dict[str, Any]:
        """Return the derived host attributes of one host."""
        values: dict[str, Any] = {}
        figures = (self._total, self._reserved, self._used, self._ratio)
        total, reserved, used, ratio = (each[position].tolist() for each in figures)
        for index, derive in self._known:
            values.update(derive(total[index], reserved[index], used[index], ratio[index]))
        return values

    def candidate_at(self, position: int) -> int:
        """Return the candidate that currently represents a host."""
        return int(self._candidates[position])

    def add(self, position: int) -> int:
        """Add the requested amounts to a host's usage; return the candidate used."""
        self._used[position] += self._amounts
        return self.candidate_at(position)

    def subtract(self, position: int, candidate: int) -> None:
        """Undo one ``add``."""
        self._used[position] -= self._amounts

    def refuse(self, position: int, candidate: int) -> bool:
        """Record that a candidate cannot be claimed; return whether its host has others."""
        return False

    def prune(self, position: int, by: str, keep: Callable[[AllocationRequest], bool]) -> bool:
        """Remove candidates that a filter rejects; return whether any is left.

        Without separate candidates, the filter judges the host itself.
        """
        return True

    @property
    def has_several_candidates(self) -> bool:
        """Whether hosts have several candidates, which filters may reject."""
        return False

    def allocations(self, candidate: int) -> AllocationRequest | None:
        """Return a candidate's allocation request; None if it uses only its host."""
        return None

    def use(self, position: int, amounts: Mapping[str, int]) -> None:
        """Add another request's usage of a host."""
        self._used[position] += np.array(
            [amounts.get(name, 0) for name in self._classes], dtype=np.int64
        )

    def fit_mask(self) -> npt.NDArray[np.bool_]:
        """Evaluate ``fits`` for all hosts."""
        amounts = self._amounts_at(slice(None))
        mask: npt.NDArray[np.bool_] = np.all(self._used + amounts <= self._capacities(), axis=1)
        return mask

    def fits(self, position: int) -> bool:
        """Return whether the requested amounts fit once more, by placement's rules."""
        capacity = self._capacities()[position]
        return bool((self._used[position] + self._amounts_at(position) <= capacity).all())

    def _capacities(self) -> npt.NDArray[np.float64]:
        """Return the capacity of each host, which is independent of usage."""
        if self._capacity is None:
            self._capacity = (self._total - self._reserved) * self._ratio
        return self._capacity

    def _amounts_at(self, position: int | slice) -> npt.NDArray[np.int64]:
        return self._amounts
