"""Comparison of a tree's decisions with one scheduler that has all hosts."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from armillary import exception
from scheduler.request.scheduling_request import SchedulingRequest
from scheduler.zones.offers import Offers, weights_of
from simulator.zones.outcome import FlatFigures
from simulator.zones.zone import SimulatedZone

_ALIKE = 1e-9


@dataclass(slots=True)
class FlatComparison:
    """Counts over all compared requests."""

    zone: SimulatedZone
    requests: int = 0
    disagreed: int = 0
    """Requests for which only one of the two found a host."""
    same_first: int = 0
    """The tree's first host has the same weight as the flat scheduler's."""
    entries: int = 0
    entries_among_best: int = 0
    """Of the tree's N hosts, those that weigh no less than the flat scheduler's N-th."""
    losses: list[float] = field(default_factory=list)
    """Weight lost by the tree's first host, as a fraction of the range of all weights."""

    def compare(self, request: SchedulingRequest, host_ids: Sequence[str]) -> None:
        """Compare the tree's hosts, best first, with the flat scheduler's list."""
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

    def figures(self) -> FlatFigures:
        losses = np.array(self.losses or [0.0])
        return FlatFigures(
            requests=self.requests,
            disagreed=self.disagreed,
            same_first=self.same_first / max(len(self.losses), 1),
            entries_among_best=self.entries_among_best / max(self.entries, 1),
            loss_mean=float(losses.mean()),
            loss_max=float(losses.max()),
        )

    def _weights(self, request: SchedulingRequest) -> dict[str, float]:
        """Return the weights of all hosts that fit the request, by a flat scheduler."""
        try:
            offer = self.zone.driver.offer(request)
        except exception.NoValidHost:
            return {}
        offers = Offers.own(offer.node_uuids, offer.weights)
        weights = weights_of(offers, self.zone.driver.plugin_weighers)
        return dict(zip(offers.host_ids, weights.tolist(), strict=True))
