"""Whether a tree decides as one scheduler with all its hosts would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from armillary import exception
from armillary.cli.simulate.zones.zone import SimulatedZone
from scheduler.scheduling_request import SchedulingRequest
from scheduler.zones.joining import Offers, weights_of

_ALIKE = 1e-9


@dataclass(slots=True)
class FlatComparison:
    """Counts over all requests that were compared."""

    zone: SimulatedZone
    requests: int = 0
    disagreed: int = 0
    """One of the two found a host and the other none."""
    same_first: int = 0
    """The tree's first host weighs as much as the flat scheduler's."""
    entries: int = 0
    entries_among_best: int = 0
    """Of the tree's N, those that weigh no less than the flat scheduler's N-th."""
    losses: list[float] = field(default_factory=list)
    """How much less the tree's first host weighs, as a part of the range of all weights."""

    def compare(self, request: SchedulingRequest, host_ids: Sequence[str]) -> None:
        """Compare what the tree offers, the best first, with the flat scheduler's own list."""
        self.requests += 1
        weights = self._weights(request)
        if bool(weights) != bool(host_ids):
            self.disagreed += 1
            return
        if not weights:
            return
        best = sorted(weights.values(), reverse=True)
        last = best[: len(host_ids)][-1]
        of_tree = [weights.get(host_id, -np.inf) for host_id in host_ids]
        spread = best[0] - best[-1]
        loss = best[0] - of_tree[0]
        self.same_first += loss <= _ALIKE
        self.losses.append(0.0 if loss <= _ALIKE else float(loss / spread))
        self.entries += len(of_tree)
        self.entries_among_best += sum(weight >= last - _ALIKE for weight in of_tree)

    def to_plain(self) -> dict[str, Any]:
        """Return the figures."""
        losses = np.array(self.losses or [0.0])
        return {
            "requests": self.requests,
            "disagreed": self.disagreed,
            "same_first": self.same_first / max(len(self.losses), 1),
            "entries_among_best": self.entries_among_best / max(self.entries, 1),
            "loss_mean": float(losses.mean()),
            "loss_max": float(losses.max()),
        }

    def _weights(self, request: SchedulingRequest) -> dict[str, float]:
        """Return what each host that could take the request weighs, for a flat scheduler."""
        try:
            offer = self.zone.driver.offer(request)
        except exception.NoValidHost:
            return {}
        offers = Offers.own(offer.node_uuids, offer.weights)
        weights = weights_of(offers, self.zone.driver.plugin_weighers)
        return dict(zip(offers.host_ids, weights.tolist(), strict=True))
