"""Join what zones offer into one list, and weigh it again by the same weighers.

An entry keeps what each weigher said of it before anything was normalised, and its multipliers;
with every list go the least and the greatest of these over all hosts that could take the request,
also those that were cut off. So an entry weighs what one flat scheduler over all hosts would say.

What a tree can miss is a host that a zone cut off because N others of the zone were better by the
scale of that zone's hosts. Nothing is missed where only one weigher has a multiplier other than 0
(equal on all hosts), where all weighers have fixed bounds, or where N is no less than the hosts
that could take the request. Otherwise every entry is in its right place among those that came, and
each zone's N best by its own scale came. Weighers that look at other hosts (a server group's) know
those of their own zone only.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from objects.zone_answer import ZoneAnswer
from scheduler.host_table import Numbers
from scheduler.weights import BaseHostWeigher, RawWeights

_PATH_LENGTH_MAX = 64


@dataclasses.dataclass(frozen=True, slots=True)
class Offers:
    """Hosts that were offered, best first or in no order, a row each, a column a weigher."""

    host_ids: list[str]
    paths: list[list[str]]
    weighers: list[str]
    raw: Numbers
    multipliers: Numbers
    bounds: Numbers

    def __len__(self) -> int:
        return len(self.host_ids)

    @classmethod
    def none(cls) -> Self:
        """Return no offers."""
        empty = np.zeros((0, 0))
        return cls([], [], [], empty, empty, np.zeros((0, 2)))

    @classmethod
    def own(cls, node_uuids: Sequence[str], weighed: RawWeights) -> Self:
        """Return a zone's own hosts."""
        raw = weighed.raw
        bounds = (
            np.stack([raw.min(axis=0), raw.max(axis=0)], axis=1)
            if len(raw)
            else np.tile([np.inf, -np.inf], (raw.shape[1], 1))
        )
        paths: list[list[str]] = [[] for _ in node_uuids]
        return cls(list(node_uuids), paths, weighed.names, raw, weighed.multipliers, bounds)

    @classmethod
    def of_child(cls, name: str, answer: ZoneAnswer) -> Self:
        """Return what a child answered. Raises ``ValueError`` for what makes no sense."""
        count, width = len(answer.host_ids), len(answer.weighers)
        shapes = answer.raw.shape, answer.multipliers.shape, answer.bounds.shape
        if shapes != ((count, width), (count, width), (width, 2)) or len(answer.paths) != count:
            raise ValueError(f"{count} hosts and {width} weighers with columns of shapes {shapes}")
        if not (np.isfinite(answer.raw).all() and np.isfinite(answer.multipliers).all()):
            raise ValueError("a weight is not a finite number")
        if np.isnan(answer.bounds).any() or len(set(answer.weighers)) < width:
            raise ValueError("the bounds of the weights make no sense")
        if len(set(answer.host_ids)) < count:
            raise ValueError("a host is named twice")
        paths = [[name, *path] for path in answer.paths]
        if any(len(path) > _PATH_LENGTH_MAX for path in paths):
            raise ValueError(f"a path of more than {_PATH_LENGTH_MAX} zones")
        return cls(
            list(answer.host_ids), paths, list(answer.weighers),
            answer.raw.astype(np.float64), answer.multipliers.astype(np.float64),
            answer.bounds.astype(np.float64),
        )  # fmt: skip

    def take(self, rows: Numbers) -> Offers:
        """Return some of these hosts; the bounds stay those of all."""
        chosen = rows.tolist()
        return Offers(
            [self.host_ids[row] for row in chosen],
            [self.paths[row] for row in chosen],
            self.weighers,
            self.raw[rows],
            self.multipliers[rows],
            self.bounds,
        )


def joined(
    parts: Sequence[Offers],
    weighers: Sequence[BaseHostWeigher],
    *,
    limit: int,
    dice: random.Random,
) -> Offers:
    """Return the best hosts of all parts, at most ``limit``, the best first.

    Of a host that comes several times the shortest path counts. Hosts of equal weight are in the
    order of dice. Raises ``ValueError`` for a part with a weigher that is not among those here.
    """
    together = _concatenated([part for part in parts if len(part)], weighers)
    if not len(together):
        return together
    ties = np.random.default_rng(dice.getrandbits(64)).random(len(together))
    order = np.lexsort((ties, -weights_of(together, weighers)))
    # No part names a host twice: so many are enough for those that are named by several.
    enough = limit + len(together) - max(map(len, parts))
    return together.take(_without_duplicates(together, order[:enough])[:limit])


def weights_of(offers: Offers, weighers: Sequence[BaseHostWeigher]) -> Numbers:
    """Return what each host weighs, on the scale of all of them."""
    by_name = {type(weigher).__name__: weigher for weigher in weighers}
    totals = np.zeros(len(offers))
    for column, name in enumerate(offers.weighers):
        low, high = offers.bounds[column].tolist()
        fixed = by_name[name]
        low = low if fixed.minval is None else float(fixed.minval)
        high = high if fixed.maxval is None else float(fixed.maxval)
        if low != high:
            scaled = (offers.raw[:, column] - low) / (high - low)
            totals += offers.multipliers[:, column] * scaled
    return totals


def _concatenated(parts: Sequence[Offers], weighers: Sequence[BaseHostWeigher]) -> Offers:
    """Return all hosts of all parts, with the columns in the order of the weighers here.

    A weigher that a part says nothing of weighs nothing there.
    """
    known = [type(weigher).__name__ for weigher in weighers]
    used = {name for part in parts for name in part.weighers}
    if unknown := sorted(used.difference(known)):
        raise ValueError(f"weighers that are not in use here: {', '.join(unknown)}")
    names = [name for name in known if name in used]
    if not parts:
        return Offers.none()
    bounds = np.tile([np.inf, -np.inf], (len(names), 1))
    raws, multipliers = [], []
    for part in parts:
        places = [names.index(name) for name in part.weighers]
        raw, factors = np.zeros((len(part), len(names))), np.zeros((len(part), len(names)))
        raw[:, places], factors[:, places] = part.raw, part.multipliers
        raws.append(raw)
        multipliers.append(factors)
        bounds[places, 0] = np.minimum(bounds[places, 0], part.bounds[:, 0])
        bounds[places, 1] = np.maximum(bounds[places, 1], part.bounds[:, 1])
    return Offers(
        [host_id for part in parts for host_id in part.host_ids],
        [path for part in parts for path in part.paths],
        names,
        np.concatenate(raws),
        np.concatenate(multipliers),
        bounds,
    )


def _without_duplicates(offers: Offers, order: Numbers) -> Numbers:
    """Return the rows to keep, in their order: of each host that with the shortest path."""
    row_of: dict[str, int] = {}
    for row in order.tolist():
        host_id = offers.host_ids[row]
        known = row_of.get(host_id)
        if known is None or len(offers.paths[row]) < len(offers.paths[known]):
            row_of[host_id] = row  # a host keeps its place in the dict
    return np.array(list(row_of.values()), dtype=np.int64)


def as_answer(
    offers: Offers, *, zones: Sequence[Mapping[str, object]], was_pruned: bool = False
) -> ZoneAnswer:
    """Return offers as they travel to a parent."""
    return ZoneAnswer.from_values(
        host_ids=offers.host_ids,
        paths=offers.paths,
        weighers=offers.weighers,
        raw=offers.raw,
        multipliers=offers.multipliers,
        bounds=offers.bounds,
        was_pruned=was_pruned,
        zones=[dict(zone) for zone in zones],
    )
