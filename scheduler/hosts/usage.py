"""Resource usage of candidates: from placement, plus the selections of a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from objects.allocations.allocation_candidates import AllocationCandidates, AllocationRequest

Positions = npt.NDArray[np.int64]

RequestBuilder = Callable[[int], AllocationRequest]
"""Maps the index of a candidate to the allocation request that claims it."""

Amount = TypeVar("Amount", float, npt.NDArray[Any])
"""A number of one host, or an array with one for each host."""


def _of_vcpu(total: Amount, reserved: Amount, used: Amount, ratio: Amount) -> dict[str, Amount]:
    return {"vcpus_total": total, "vcpus_used": used + reserved, "cpu_allocation_ratio": ratio}


def _of_memory_mb(
    total: Amount, reserved: Amount, used: Amount, ratio: Amount
) -> dict[str, Amount]:
    return {
        "total_usable_ram_mb": total,
        "free_ram_mb": total - reserved - used,
        "ram_allocation_ratio": ratio,
    }


def _of_disk_gb(total: Amount, reserved: Amount, used: Amount, ratio: Amount) -> dict[str, Amount]:
    return {
        "total_usable_disk_gb": total,
        "free_disk_mb": (total - reserved - used) * 1024,
        "disk_mb_used": (used + reserved) * 1024,
        "disk_allocation_ratio": ratio,
    }


class Derive(Protocol):
    """Derives host attributes from an inventory and its usage, for one host or for arrays."""

    def __call__(
        self, total: Amount, reserved: Amount, used: Amount, ratio: Amount
    ) -> dict[str, Amount]: ...


DeriveOf = Callable[[str], Derive | None]
"""Maps a resource class to what derives attributes from it."""

_ATTRIBUTES_OF: dict[str, Derive] = {
    "VCPU": _of_vcpu,
    "MEMORY_MB": _of_memory_mb,
    "DISK_GB": _of_disk_gb,
}
of_hosts: DeriveOf = _ATTRIBUTES_OF.get
"""Derives the attributes of hosts."""


class Inventories(NamedTuple):
    """Inventories of n hosts and their usage, as (n, k) arrays for k classes."""

    total: npt.NDArray[np.int64]
    reserved: npt.NDArray[np.int64]
    used: npt.NDArray[np.int64]
    ratio: npt.NDArray[np.float64]

    @classmethod
    def of(cls, candidates: AllocationCandidates, chosen: Positions) -> Self:
        """Return copies for some candidates, by index."""
        given = (candidates.total, candidates.reserved, candidates.used, candidates.ratio)
        return cls(*(each[chosen] for each in given))


class Shortage(NamedTuple):
    """A class of which so many hosts have less than ``asked`` free, at most ``best``."""

    resource_class: str
    asked: int
    best: int
    hosts: int


class Usage:
    """Requested resources on n hosts as (n, k) arrays for k classes; owned by one decision.

    Each host is represented by one candidate of placement's response, by index.
    """

    def __init__(
        self,
        classes: list[str],
        amounts: npt.NDArray[np.int64],
        candidates: Positions,
        inventories: Inventories,
        request: RequestBuilder,
        derive_of: DeriveOf = of_hosts,
    ) -> None:
        self._request = request
        self._classes = classes
        self._derive_of = derive_of
        self._amounts = amounts
        self._candidates = candidates
        self._total, self._reserved, self._used, self._ratio = inventories
        self._capacity: npt.NDArray[np.float64] | None = None
        by_all = amounts if amounts.ndim == 1 else amounts.min(axis=0, initial=1)
        self._known = [
            (index, derive)
            for index, name in enumerate(classes)
            if by_all[index] and (derive := derive_of(name)) is not None
        ]

    @classmethod
    def of_candidates(
        cls,
        candidates: AllocationCandidates,
        chosen: Positions,
        request: RequestBuilder,
        derive_of: DeriveOf = of_hosts,
    ) -> Self:
        """Return the usage of some candidates, by index."""
        inventories = Inventories.of(candidates, chosen)
        classes, amounts = candidates.resource_classes, candidates.amounts
        return cls(classes, amounts, chosen, inventories, request, derive_of)

    def take(self, positions: Positions) -> Usage:
        """Return the usage of some of these hosts."""
        inventories = Inventories(
            self._total[positions],
            self._reserved[positions],
            self._used[positions],
            self._ratio[positions],
        )
        return Usage(
            self._classes,
            self._amounts,
            self._candidates[positions],
            inventories,
            self._request,
            self._derive_of,
        )

    def attributes(self) -> dict[str, npt.NDArray[Any]]:
        """Return the derived host attributes, one array each.

        Of an attribute that several classes have, the least value counts.
        """
        columns: dict[str, npt.NDArray[Any]] = {}
        for index, derive in self._known:
            derived = derive(
                self._total[:, index],
                self._reserved[:, index],
                self._used[:, index],
                self._ratio[:, index],
            )
            for name, column in derived.items():
                former = columns.get(name)
                columns[name] = np.array(column) if former is None else np.minimum(former, column)
        return columns

    def attributes_at(self, position: int) -> dict[str, float]:
        """Return the derived host attributes of one host."""
        values: dict[str, float] = {}
        figures = (self._total, self._reserved, self._used, self._ratio)
        total, reserved, used, ratio = (each[position].tolist() for each in figures)
        for index, derive in self._known:
            derived = derive(total[index], reserved[index], used[index], ratio[index])
            for name, value in derived.items():
                values[name] = min(value, values.get(name, value))
        return values

    def candidate_at(self, position: int) -> int:
        """Return the candidate that currently represents a host."""
        return int(self._candidates[position])

    def request(self, candidate: int) -> AllocationRequest:
        """Return what claims a candidate."""
        return self._request(candidate)

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

        Without separate candidates, the filter evaluates the host itself.
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

    def shortages(self, positions: Positions) -> list[Shortage]:
        """Return the classes that hosts without room lack, each host counted at the first one."""
        free = (self._capacities() - self._used)[positions]
        asked = np.broadcast_to(self._amounts_at(slice(None)), self._used.shape)[positions]
        first = np.argmax(asked > free, axis=1)
        found = []
        for index, name in enumerate(self._classes):
            rows = np.flatnonzero(first == index)
            if len(rows):
                best = max(0, int(free[rows, index].max()))
                found.append(Shortage(name, int(asked[rows, index].min()), best, len(rows)))
        return sorted(found, key=lambda each: -each.hosts)

    def _capacities(self) -> npt.NDArray[np.float64]:
        """Return the capacity of each host, which is independent of usage."""
        if self._capacity is None:
            self._capacity = (self._total - self._reserved) * self._ratio
        return self._capacity

    def _amounts_at(self, position: int | slice) -> npt.NDArray[np.int64]:
        return self._amounts


_Takes = dict[str, npt.NDArray[np.int64]]
"""Provider -> amounts that a candidate uses, by class."""


class TreeUsage(Usage):
    """Each host is represented by the first of its candidates that fits.

    Candidates of a host that use the same class of the same provider reduce each other's capacity.
    Candidates of other hosts are not considered: if they claim first, placement refuses the claim.
    """

    def __init__(
        self,
        candidates: AllocationCandidates,
        offers: Sequence[list[int]],
        request: RequestBuilder,
        derive_of: DeriveOf = of_hosts,
    ) -> None:
        first = np.array([offer[0] for offer in offers], np.int64)
        super().__init__(
            candidates.resource_classes,
            candidates.amounts,
            first,
            Inventories.of(candidates, first),
            request,
            derive_of,
        )
        self._answer = candidates
        self._offers = [list(offer) for offer in offers]
        self._used_of: dict[int, npt.NDArray[np.int64]] = {}  # where it differs from the response
        self._takes_of: dict[int, _Takes] = {}
        self._withdrawn: dict[int, dict[str, set[int]]] = {}  # by the filter that rejected them

    def take(self, positions: Positions) -> TreeUsage:
        return TreeUsage(
            self._answer,
            [self._open(position) or self._offers[position] for position in positions.tolist()],
            self._request,
            self._derive_of,
        )

    def add(self, position: int) -> int:
        candidate = self.candidate_at(position)
        self._change(position, candidate, 1)
        return candidate

    def subtract(self, position: int, candidate: int) -> None:
        self._change(position, candidate, -1)

    def refuse(self, position: int, candidate: int) -> bool:
        offers = self._offers[position]
        if candidate in offers:
            offers.remove(candidate)
        return bool(self._open(position))

    def prune(self, position: int, by: str, keep: Callable[[AllocationRequest], bool]) -> bool:
        refused = {each for each in self._offers[position] if not keep(self._request(each))}
        if refused or position in self._withdrawn:
            self._withdrawn.setdefault(position, {})[by] = refused
            self._move(position)
        return bool(self._open(position))

    @property
    def has_several_candidates(self) -> bool:
        return True

    def allocations(self, candidate: int) -> AllocationRequest:
        return self._request(candidate)

    def _open(self, position: int) -> list[int]:
        """Return the candidates of a host that no filter rejected."""
        withdrawn = self._withdrawn.get(position)
        if withdrawn is None:
            return self._offers[position]
        refused = set[int]().union(*withdrawn.values())
        return [each for each in self._offers[position] if each not in refused]

    def _change(self, position: int, candidate: int, sign: int) -> None:
        for other in self._offers[position]:
            if (shared := self._shared(candidate, other)).any():
                self._used_of[other] = self._now_used(other) + sign * shared
        self._move(position)

    def _move(self, position: int) -> None:
        """Represent a host by its first candidate that fits, or else by its last."""
        for candidate in self._open(position):
            self._stand_for(position, candidate)
            if self.fits(position):
                return

    def _stand_for(self, position: int, candidate: int) -> None:
        self._candidates[position] = candidate
        self._total[position] = self._answer.total[candidate]
        self._reserved[position] = self._answer.reserved[candidate]
        self._used[position] = self._now_used(candidate)
        self._ratio[position] = self._answer.ratio[candidate]
        if self._capacity is not None:
            own = self._total[position] - self._reserved[position]
            self._capacity[position] = own * self._ratio[position]

    def _amounts_at(self, position: int | slice) -> npt.NDArray[np.int64]:
        """Return the requested amounts there, which differ between hosts in merged responses."""
        amounts = self._answer.amounts
        return amounts if amounts.ndim == 1 else amounts[self._candidates[position]]

    def _now_used(self, candidate: int) -> npt.NDArray[np.int64]:
        return self._used_of.get(candidate, self._answer.used[candidate])

    def _shared(self, candidate: int, other: int) -> npt.NDArray[np.int64]:
        """Return the amounts of a candidate on providers and classes that the other also uses."""
        amounts = np.zeros(len(self._classes), np.int64)
        others = self._takes(other)
        for provider, taken in self._takes(candidate).items():
            if provider in others:
                amounts += np.where(others[provider] > 0, taken, 0)
        return amounts

    def _takes(self, candidate: int) -> _Takes:
        if candidate not in self._takes_of:
            self._takes_of[candidate] = {
                provider: np.array(
                    [taken["resources"].get(name, 0) for name in self._classes], np.int64
                )
                for provider, taken in self._request(candidate).items()
            }
        return self._takes_of[candidate]
