"""Requests to a scheduler driver as values, and the hosts that it offers to another zone."""

import dataclasses
from collections.abc import Sequence

from armillary import exception
from armillary.context import RequestContext
from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from objects.traces.decision_trace import DecisionTrace
from scheduler.hosts.host_table import Mask
from scheduler.weights.ranking import RawWeights

Outcome = Destinations | Exception
"""The result of a request: destinations, or the error that ``select_destinations`` raises."""


@dataclasses.dataclass(frozen=True, slots=True)
class SchedulingRequest:
    """A request for instances of one spec; see ``SchedulerAPI.select_destinations``.

    ``takes_zones`` is whether hosts of other zones are acceptable. ``only_zones`` are the paths of
    the zones below this one to search in place of all, empty for all.
    """

    context: RequestContext
    request_spec: RequestSpec
    instance_uuids: Sequence[str]
    fences: Sequence[int]
    return_alternates: bool = True
    dry_run: bool = False
    takes_zones: bool = True
    only_zones: Sequence[str] = ()

    def check(self) -> None:
        """Raise ``Invalid`` unless there are unique instances, each with a fence."""
        instances = self.instance_uuids
        if not instances or len(self.fences) != len(set(instances)):
            raise exception.Invalid(
                reason=f"{len(instances)} instances with {len(self.fences)} fences: a request "
                "needs at least one instance, no duplicates, and a fence for each instance"
            )


@dataclasses.dataclass(frozen=True, slots=True)
class HostOffer:
    """Node UUIDs, the raw weights of each node, and the trace of the search.

    Nodes in ``is_fallback`` come behind all others; None if there is none.
    """

    node_uuids: list[str]
    weights: RawWeights
    is_fallback: Mask | None
    trace: DecisionTrace
