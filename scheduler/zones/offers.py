"""Merge the offers of several zones and weigh them together.

Each entry keeps its raw weights, before normalisation, and its multipliers. Each list comes with
the minimum and maximum of the raw weights over all eligible hosts, including those that were cut
off. So an entry gets the weight that one flat scheduler over all hosts would give it; a parent may
scale and shift the weights of a child's hosts.

A tree can only miss a host that its zone cut off because N other hosts of the zone were better on
the zone's own scale. Nothing is missed if only one weigher has a non-zero multiplier (equal on all
hosts), if all weighers have fixed bounds, or if N is at least the number of eligible hosts.
Otherwise every entry is ranked correctly among those received, and each zone's N best by its own
scale were received. Weighers that look at other hosts (those for server groups) only know the hosts
of their own zone.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from objects.zones.zone_answer import ZoneAnswer, ZoneOutcome
from scheduler.hosts.host_table import Mask, Numbers
from scheduler.weights import BaseHostWeigher
from scheduler.weights.ranking import RawWeights

_PATH_LENGTH_MAX = 64
ZONE_OFFSET = "ZoneOffset"
"""Name of the offset of a zone's weights among the parts of a weight."""


@dataclasses.dataclass(frozen=True, slots=True)
class ZoneEntry:
    """A trace's entry for one zone, as in ``ZoneAnswer.zones``; the reporting zone has no path."""

    path: list[str]
    outcome: str
    hosts: int = 0
    seconds: float = 0.0
    reason: str | None = None
    may_serve: bool = False

    @classmethod
    def of_child(cls, name: str, zone: Mapping[str, Any]) -> Self:
        """Return a child's entry for a zone of its sub-tree, with a path relative to this zone."""
        return cls(
            path=[name, *map(str, zone["path"])],
            outcome=str(zone["outcome"]),
            hosts=int(zone["hosts"]),
            seconds=float(zone["seconds"]),
            reason=None if zone["reason"] is None else str(zone["reason"]),
            may_serve=zone.get("may_serve") is True,
        )

    def to_plain(self) -> ZoneOutcome:
        return {
            "path": self.path,
            "outcome": self.outcome,
            "hosts": self.hosts,
            "seconds": round(self.seconds, 6),
            "reason": self.reason,
            "may_serve": self.may_serve,
        }


@dataclasses.dataclass(frozen=True, slots=True)
class Offers:
    """Offered hosts, one row each, with one column per weigher; not necessarily sorted.

    Hosts in ``is_fallback`` come behind all others. ``adjustments`` has scale and offset of each
    host's weight, as the zones above it set them.
    """

    host_ids: list[str]
    paths: list[list[str]]
    weighers: list[str]
    raw: Numbers
    multipliers: Numbers
    bounds: Numbers
    is_fallback: Mask
    adjustments: Numbers

    def __len__(self) -> int:
        return len(self.host_ids)

    @classmethod
    def none(cls) -> Self:
        """Return an empty set of offers."""
        empty = np.zeros((0, 0))
        return cls(
            [], [], [], empty, empty, np.zeros((0, 2)), np.zeros(0, np.bool_), np.zeros((0, 2))
        )

    @classmethod
    def own(
        cls, node_uuids: Sequence[str], weighed: RawWeights, is_fallback: Mask | None = None
    ) -> Self:
        """Return a zone's own hosts as offers."""
        raw = weighed.raw
        bounds = (
            np.stack([raw.min(axis=0), raw.max(axis=0)], axis=1)
            if len(raw)
            else np.tile([np.inf, -np.inf], (raw.shape[1], 1))
        )
        paths: list[list[str]] = [[] for _ in node_uuids]
        if is_fallback is None:
            is_fallback = np.zeros(len(paths), np.bool_)
        return cls(
            list(node_uuids), paths, weighed.names, raw, weighed.multipliers, bounds, is_fallback,
            np.tile([1.0, 0.0], (len(paths), 1)),
        )  # fmt: skip

    @classmethod
    def of_child(cls, name: str, answer: ZoneAnswer) -> Self:
        """Return a child's answer as offers. Raises ``ValueError`` if it is invalid."""
        count, width = len(answer.host_ids), len(answer.weighers)
        shapes = answer.raw.shape, answer.multipliers.shape, answer.bounds.shape
        sizes = {len(answer.paths), *answer.is_fallback.shape}
        if shapes != ((count, width), (count, width), (width, 2)) or sizes != {count}:
            raise ValueError(f"{count} hosts and {width} weighers, but columns of shapes {shapes}")
        if not (np.isfinite(answer.raw).all() and np.isfinite(answer.multipliers).all()):
            raise ValueError("a weight is not a finite number")
        if answer.adjustments.shape != (count, 2) or not np.isfinite(answer.adjustments).all():
            raise ValueError("the adjustments of the weights are invalid")
        if np.isnan(answer.bounds).any() or len(set(answer.weighers)) < width:
            raise ValueError("the bounds of the weights are invalid")
        if len(set(answer.host_ids)) < count:
            raise ValueError("a host is listed twice")
        paths = [[name, *path] for path in answer.paths]
        if any(len(path) > _PATH_LENGTH_MAX for path in paths):
            raise ValueError(f"a path has more than {_PATH_LENGTH_MAX} zones")
        return cls(
            list(answer.host_ids), paths, list(answer.weighers),
            answer.raw.astype(np.float64), answer.multipliers.astype(np.float64),
            answer.bounds.astype(np.float64), answer.is_fallback.astype(np.bool_),
            answer.adjustments.astype(np.float64),
        )  # fmt: skip

    def adjusted(self, scale: float, offset: float) -> Offers:
        """Return these hosts with weights of ``offset`` + ``scale`` times the former ones."""
        if (scale, offset) == (1.0, 0.0):
            return self
        made = self.adjustments * scale
        made[:, 1] += offset
        return dataclasses.replace(self, adjustments=made)

    def take(self, rows: Numbers) -> Offers:
        """Return some of these hosts; the bounds still cover all of them."""
        chosen = rows.tolist()
        return Offers(
            [self.host_ids[row] for row in chosen],
            [self.paths[row] for row in chosen],
            self.weighers,
            self.raw[rows],
            self.multipliers[rows],
            self.bounds,
            self.is_fallback[rows],
            self.adjustments[rows],
        )


def merge_offers(
    parts: Sequence[Offers], weighers: Sequence[BaseHostWeigher], *, limit: int, rng: random.Random
) -> Offers:
    """Return the best hosts of all parts, at most ``limit``, best first.

    A host that occurs several times keeps its shortest path. Hosts of equal weight are in random
    order. Raises ``ValueError`` for a part with a weigher that is not enabled here.
    """
    together = _concatenated([part for part in parts if len(part)], weighers)
    if not len(together):
        return together
    ties = np.random.default_rng(rng.getrandbits(64)).random(len(together))
    order = np.lexsort((ties, -weights_of(together, weighers), together.is_fallback))
    # No part lists a host twice, so this many rows suffice for hosts listed by several parts.
    enough = limit + len(together) - max(map(len, parts))
    return together.take(_without_duplicates(together, order[:enough])[:limit])


def weights_of(offers: Offers, weighers: Sequence[BaseHostWeigher]) -> Numbers:
    """Return each host's weight, on a common scale."""
    totals = np.zeros(len(offers))
    for column, (low, high) in enumerate(_ranges(offers, weighers)):
        if low != high:
            scaled = (offers.raw[:, column] - low) / (high - low)
            totals += offers.multipliers[:, column] * scaled
    weights: Numbers = totals * offers.adjustments[:, 0] + offers.adjustments[:, 1]
    return weights


def shares_of(
    offers: Offers, weighers: Sequence[BaseHostWeigher], row: int
) -> dict[str, dict[str, float | None]]:
    """Return each weigher's part in a host's weight, as in ``DecisionTrace.choices``."""
    scale, offset = offers.adjustments[row].tolist()
    shares: dict[str, dict[str, float | None]] = {}
    for column, (low, high) in enumerate(_ranges(offers, weighers)):
        raw, multiplier = offers.raw[row, column].item(), offers.multipliers[row, column].item()
        normalised = (raw - low) / (high - low) if low != high else 0.0
        weight = scale * multiplier * normalised
        shares[offers.weighers[column]] = {"raw": raw, "normalised": normalised, "weight": weight}
    if offset:
        shares[ZONE_OFFSET] = {"raw": None, "normalised": None, "weight": offset}
    return shares


def _ranges(offers: Offers, weighers: Sequence[BaseHostWeigher]) -> Iterator[tuple[float, float]]:
    """Yield the common scale of each weigher's column."""
    by_name = {type(weigher).__name__: weigher for weigher in weighers}
    for column, name in enumerate(offers.weighers):
        low, high = offers.bounds[column].tolist()
        fixed = by_name[name]
        yield (
            low if fixed.minval is None else float(fixed.minval),
            high if fixed.maxval is None else float(fixed.maxval),
        )


def _concatenated(parts: Sequence[Offers], weighers: Sequence[BaseHostWeigher]) -> Offers:
    """Return all hosts of all parts, with the columns in the local order of weighers.

    A weigher that a part does not report has the weight 0 there.
    """
    known = [type(weigher).__name__ for weigher in weighers]
    used = {name for part in parts for name in part.weighers}
    if unknown := sorted(used.difference(known)):
        raise ValueError(f"weighers not enabled here: {', '.join(unknown)}")
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
        np.concatenate([part.is_fallback for part in parts]),
        np.concatenate([part.adjustments for part in parts]),
    )


def _without_duplicates(offers: Offers, order: Numbers) -> Numbers:
    """Return the rows to keep, in order: for each host the one with the shortest path."""
    row_of: dict[str, int] = {}
    for row in order.tolist():
        host_id = offers.host_ids[row]
        known = row_of.get(host_id)
        if known is None or len(offers.paths[row]) < len(offers.paths[known]):
            row_of[host_id] = row  # the host keeps its position in the dict
    return np.array(list(row_of.values()), dtype=np.int64)


def as_answer(
    offers: Offers, *, zones: Sequence[ZoneEntry], was_pruned: bool = False
) -> ZoneAnswer:
    """Return offers in the form that is sent to a parent."""
    return ZoneAnswer.from_values(
        host_ids=offers.host_ids,
        paths=offers.paths,
        weighers=offers.weighers,
        raw=offers.raw,
        multipliers=offers.multipliers,
        bounds=offers.bounds,
        is_fallback=offers.is_fallback,
        adjustments=offers.adjustments,
        was_pruned=was_pruned,
        zones=[zone.to_plain() for zone in zones],
    )
