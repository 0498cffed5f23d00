"""The hosts that could take an instance now, as another zone is told of them."""

from __future__ import annotations

import dataclasses

from objects.decision_trace import DecisionTrace
from scheduler.weights import RawWeights


@dataclasses.dataclass(frozen=True, slots=True)
class HostOffer:
    """Node UUIDs, what weighers say of each, and the trace of how these were found."""

    node_uuids: list[str]
    weights: RawWeights
    trace: DecisionTrace
