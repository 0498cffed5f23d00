"""A scheduling decision in progress: request, candidate hosts and result."""

from __future__ import annotations

import dataclasses

from armillary.context import RequestContext
from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from objects.selection import Selection
from scheduler.explain.trace import TraceBuilder
from scheduler.request.scheduling_request import SchedulingRequest
from scheduler.selection.assumed_placements import AssumedPlacementsView
from scheduler.selection.host_selector import HostSelector, Slot
from scheduler.selection.responses import Offer, Requester


@dataclasses.dataclass(eq=False, slots=True)
class DecisionBatch:
    """The hosts shared by requests with equal specs, which are decided in order.

    ``watch`` tracks the selections of other batches since the last look, and ``own`` holds the
    instances for which hosts were selected here. ``users`` counts unfinished decisions.
    ``is_shared`` is True once hosts were selected for other requests than the next one.
    """

    selector: HostSelector
    request: Requester
    watch: AssumedPlacementsView
    own: set[str] = dataclasses.field(default_factory=set)
    users: int = 0
    is_shared: bool = False
    selections: dict[Offer, Selection] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(eq=False, slots=True)
class Decision:
    """The state and result of one request. Used by one thread at a time.

    ``spec`` is the request's own until it joins a batch, then the spec of the batch.
    ``is_blocked_by_others`` is whether unclaimed selections of other requests, which may still
    fail, blocked
    hosts for it.
    """

    request: SchedulingRequest
    spec: RequestSpec
    instances: list[Slot]
    trace: TraceBuilder
    alternates_max: int
    batch: DecisionBatch | None = None
    offers: list[list[Offer]] = dataclasses.field(default_factory=list)
    found: Destinations | None = None
    error: Exception | None = None
    is_blocked_by_others: bool = False

    @property
    def context(self) -> RequestContext:
        return self.request.context

    @property
    def is_dry_run(self) -> bool:
        return self.request.dry_run

    @property
    def is_placed(self) -> bool:
        """Whether it has hosts and is not a dry run."""
        return self.error is None and self.batch is not None and not self.is_dry_run

    @property
    def unclaimed(self) -> list[Slot]:
        """Instances that still need a claim."""
        return [wanted for wanted in self.instances if not wanted.is_claimed]

    @property
    def claimed(self) -> dict[str, int]:
        """Instances claimed by this decision, with their fences."""
        return {each.instance_uuid: each.fence for each in self.instances if each.is_claimed}

    @property
    def positions(self) -> list[int]:
        """Positions of the selected hosts."""
        return [wanted.position for wanted in self.instances]

    def for_retry(self) -> SchedulingRequest:
        """Return the request for a retry, with the server group members learned from its batch.

        Its fences are higher than those that released the claims of the first try.
        """
        fences = [fence + 1 for fence in self.request.fences]
        group = self.spec.instance_group
        if group is None or self.batch is None:
            return dataclasses.replace(self.request, fences=fences)
        known = group.with_values(members=list(group.members), hosts=list(group.hosts))
        spec = self.request.request_spec.with_values(instance_group=known)
        return dataclasses.replace(self.request, fences=fences, request_spec=spec)


class GivenUp(Exception):
    """No host was found for a request; ``placed`` is how many of its instances had one."""

    def __init__(self, *, placed: int = 0, reason: str | None = None) -> None:
        super().__init__(reason)
        self.placed = placed
        self.reason = reason
