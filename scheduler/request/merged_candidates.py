"""Merge of two placement responses to alternative queries for one request."""

from __future__ import annotations

from typing import Any

import numpy as np

from objects.allocation_candidates import AllocationCandidates

_COLUMNS = {"total": np.int64, "reserved": np.int64, "used": np.int64, "ratio": np.float64}


def join(first: AllocationCandidates, second: AllocationCandidates) -> AllocationCandidates:
    """Return the candidates of the first response, then those of the second on other hosts.

    A host that fits the first query is not offered for the second, which is worse. The classes are
    those of both; ``amounts`` has one row per candidate, with 0 for classes not requested of it.
    Placement's reasons come from the response with candidates, from the first if both have some.
    """
    known = set(first.provider_uuids)
    kept = [at for at, uuid in enumerate(second.provider_uuids) if uuid not in known]
    if not kept:
        return first
    if not len(first.provider_uuids):
        return second
    return _Join(first, second, kept).made()


class _Join:
    """The concatenated columns of both responses."""

    def __init__(
        self, first: AllocationCandidates, second: AllocationCandidates, kept: list[int]
    ) -> None:
        self._first, self._second, self._kept = first, second, kept
        self._classes = list(dict.fromkeys([*first.resource_classes, *second.resource_classes]))

    def made(self) -> AllocationCandidates:
        first, second, kept = self._first, self._second, self._kept
        every = list(range(len(first.provider_uuids)))
        parts = [_Filled(first, every), _Filled(second, kept)]
        columns = {
            name: np.concatenate(
                [self._spread(name, first, every), self._spread(name, second, kept)]
            )
            for name in _COLUMNS
        }
        return AllocationCandidates.from_values(
            columns,
            provider_uuids=[*first.provider_uuids, *(second.provider_uuids[at] for at in kept)],
            resource_classes=self._classes,
            amounts=np.concatenate([self._amounts(first, every), self._amounts(second, kept)]),
            providers_total=first.providers_total,
            ruled_out=first.ruled_out,
            templates=[*parts[0].templates, *parts[1].templates],
            template_of=np.concatenate(
                [parts[0].template_of, parts[1].template_of + len(parts[0].templates)]
            ),
            slots=np.concatenate([parts[0].slots, parts[1].slots + len(parts[0].slot_uuids)]),
            slot_uuids=[*parts[0].slot_uuids, *parts[1].slot_uuids],
        )

    def _amounts(self, answer: AllocationCandidates, rows: list[int]) -> np.ndarray:
        made = np.zeros((len(rows), len(self._classes)), np.int64)
        made[:, self._places(answer)] = answer.amounts
        return made

    def _spread(self, name: str, answer: AllocationCandidates, rows: list[int]) -> np.ndarray:
        made = np.zeros((len(rows), len(self._classes)), _COLUMNS[name])
        made[:, self._places(answer)] = getattr(answer, name)[rows]
        return made

    def _places(self, answer: AllocationCandidates) -> list[int]:
        return [self._classes.index(name) for name in answer.resource_classes]


class _Filled:
    """Some candidates of a response in template form, also of a response without templates."""

    def __init__(self, answer: AllocationCandidates, rows: list[int]) -> None:
        if answer.is_flat:
            self.templates: list[Any] = [
                [dict(zip(answer.resource_classes, answer.amounts.tolist(), strict=True))]
            ]
            self.template_of = np.zeros(len(rows), np.int64)
            self.slot_uuids = [answer.provider_uuids[at] for at in rows]
            self.slots = np.arange(len(rows))
            return
        assert answer.template_of is not None
        assert answer.slots is not None
        sizes = np.array([len(template) for template in answer.templates])[answer.template_of]
        ends = np.cumsum(sizes)
        shares = [np.arange(ends[at] - sizes[at], ends[at]) for at in rows]
        self.templates = answer.templates
        self.template_of = answer.template_of[rows]
        self.slot_uuids = answer.slot_uuids
        self.slots = answer.slots[np.concatenate(shares)]
