"""Eligible hosts for an instance, as offered to another zone."""

from __future__ import annotations

import dataclasses

from objects.traces.decision_trace import DecisionTrace
from scheduler.weights import RawWeights


@dataclasses.dataclass(frozen=True, slots=True)
class HostOffer:
    """Node UUIDs, the raw weights of each node, and the trace of the search."""

    node_uuids: list[str]
    weights: RawWeights
    trace: DecisionTrace
