"""Usage of hosts with several candidates, or with candidates that use other providers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from objects.allocation_candidates import AllocationCandidates, AllocationRequest
from scheduler.hosts.usage import Positions, Usage

_Takes = dict[str, npt.NDArray[np.int64]]
"""Provider -> amounts that a candidate uses, by class."""


def hosts_and_offers(candidates: AllocationCandidates) -> dict[str, list[int]]:
    """Return host -> indexes of its candidates, both in placement's order."""
    offers: dict[str, list[int]] = defaultdict(list)
    for index, uuid in enumerate(candidates.provider_uuids):
        offers[uuid].append(index)
    return offers


class TreeUsage(Usage):
    """Each host is represented by the first of its candidates that fits.

    Candidates of a host that use the same class of the same provider reduce each other's capacity.
    Candidates of other hosts are not considered: if they claim first, placement refuses the claim.
    """

    def __init__(self, candidates: AllocationCandidates, offers: Sequence[list[int]]) -> None:
        first = np.array([offer[0] for offer in offers], np.int64)
        super().__init__(
            candidates.resource_classes,
            candidates.amounts,
            candidates=first,
            total=candidates.total[first],
            reserved=candidates.reserved[first],
            used=candidates.used[first],
            ratio=candidates.ratio[first],
        )
        self._answer = candidates
        self._offers = [list(offer) for offer in offers]
        self._request = candidates.request_builder()
        self._used_of: dict[int, npt.NDArray[np.int64]] = {}  # where it differs from the response
        self._takes_of: dict[int, _Takes] = {}
        self._withdrawn: dict[int, dict[str, set[int]]] = {}  # by the filter that rejected them

    def take(self, positions: Positions) -> TreeUsage:
        return TreeUsage(
            self._answer,
            [self._open(position) or self._offers[position] for position in positions.tolist()],
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
