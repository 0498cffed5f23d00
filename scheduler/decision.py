"""A decision on its way: the request, the hosts that it is decided on, and what came of it."""

from __future__ import annotations

import dataclasses

from armillary.context import RequestContext
from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from objects.selection import Selection
from scheduler.answers import Offer, Requester
from scheduler.scheduling_request import SchedulingRequest
from scheduler.selections import Chooser, Wanted
from scheduler.trace import TraceBuilder
from scheduler.unclaimed import Watch


@dataclasses.dataclass(eq=False, slots=True)
class Board:
    """The hosts that requests with equal specs are decided on, one after the other.

    ``watch`` tells what others chose since it was looked at last, ``own`` are the instances that
    hosts were chosen for here; ``users`` counts the decisions that are not at their end yet.

    ``is_shared`` tells that hosts were chosen there for others than the request that is next.
    """

    chooser: Chooser
    request: Requester
    watch: Watch
    own: set[str] = dataclasses.field(default_factory=set)
    users: int = 0
    is_shared: bool = False
    selections: dict[Offer, Selection] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(eq=False, slots=True)
class Decision:
    """What one request comes to. Used by one thread at a time.

    ``spec`` is the request's until it is decided, then that of the board: what requests with equal
    specs are decided on. ``is_crowded`` tells that others, whose claims may yet fail, were in its
    way.
    """

    request: SchedulingRequest
    spec: RequestSpec
    instances: list[Wanted]
    trace: TraceBuilder
    alternates_max: int
    board: Board | None = None
    offers: list[list[Offer]] = dataclasses.field(default_factory=list)
    found: Destinations | None = None
    error: Exception | None = None
    is_crowded: bool = False

    @property
    def context(self) -> RequestContext:
        return self.request.context

    @property
    def is_dry_run(self) -> bool:
        return self.request.dry_run

    @property
    def is_placed(self) -> bool:
        """Whether it has hosts that are to be used."""
        return self.error is None and self.board is not None and not self.is_dry_run

    @property
    def unclaimed(self) -> list[Wanted]:
        """Those instances that need a claim yet."""
        return [wanted for wanted in self.instances if not wanted.is_claimed]

    @property
    def claimed(self) -> dict[str, int]:
        """The instances whose claims this decision has written, with their fences."""
        return {each.instance_uuid: each.fence for each in self.instances if each.is_claimed}

    @property
    def positions(self) -> list[int]:
        """Where the instances go."""
        return [wanted.position for wanted in self.instances]

    def for_second_look(self) -> SchedulingRequest:
        """Return a request again, with what those that it was decided together with knew.

        Its claims have fences above those by which the claims of the first look were released.
        """
        fences = [fence + 1 for fence in self.request.fences]
        group = self.spec.instance_group
        if group is None or self.board is None:
            return dataclasses.replace(self.request, fences=fences)
        known = group.with_values(members=list(group.members), hosts=list(group.hosts))
        spec = self.request.request_spec.with_values(instance_group=known)
        return dataclasses.replace(self.request, fences=fences, request_spec=spec)


class GivenUp(Exception):
    """There is no host for a request; ``placed`` of its instances had one before."""

    def __init__(self, *, placed: int = 0, reason: str | None = None) -> None:
        super().__init__(reason)
        self.placed = placed
        self.reason = reason
