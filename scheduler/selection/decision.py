"""Decisions in progress: the state and result of each request."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from armillary import exception
from armillary.context import RequestContext, log_context
from objects.allocation_candidates import AllocationRequest
from objects.destinations import Destinations
from objects.fence import Fence
from objects.request_spec import RequestSpec
from scheduler.explain.trace import TraceBuilder
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.request.scheduling_request import SchedulingRequest

if TYPE_CHECKING:
    from scheduler.selection.host_selector import DecisionBatch

LOG = logging.getLogger(__name__)

_HOSTS_LOGGED_MAX = 20

Offer = tuple[int, int]
"""Position of a host, and index of the candidate chosen on it."""

Requester = Callable[[int], AllocationRequest]
"""Maps the index of a candidate to the allocation request that claims it."""


@dataclasses.dataclass(slots=True)
class Slot:
    """One instance that needs a host."""

    instance_uuid: str
    fence: int
    position: int = -1
    is_claimed: bool = False


@dataclasses.dataclass(eq=False, slots=True)
class Decision:
    """The state and result of one request. Used by one thread at a time.

    ``spec`` is the request's own until it joins a batch, then the spec of the batch.
    ``is_blocked_by_others`` is whether unclaimed selections of other requests, which may still
    fail, blocked hosts for it.
    """

    request: SchedulingRequest
    spec: RequestSpec
    slots: list[Slot]
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
    def unclaimed_slots(self) -> list[Slot]:
        """Slots that still need a claim."""
        return [slot for slot in self.slots if not slot.is_claimed]

    @property
    def claimed(self) -> dict[str, int]:
        """Instances claimed by this decision, with their fences."""
        return {slot.instance_uuid: slot.fence for slot in self.slots if slot.is_claimed}

    def share(self, other: Decision) -> None:
        """Take over spec and trace of another decision, which found the hosts for both."""
        self.spec = other.spec
        self.trace.adopt(other.trace)
        self.is_blocked_by_others = other.is_blocked_by_others

    def fail(self, reason: GivenUp, facts: ClusterMetadata) -> None:
        """Record why there is no host."""
        trace = self.trace.failed(
            placed=reason.placed,
            wanted=len(self.slots),
            aggregate_names={each.uuid: each.name for each in facts.aggregates},
            reason=reason.reason,
        )
        with log_context(self.context):
            LOG.info("%s: no valid host: %s", self.slots[0].instance_uuid, trace.sentence)
            self.log_filter_results()
        self.error = exception.NoValidHost(reason=trace.sentence, trace=trace.obj_to_primitive())

    def log_filter_results(self) -> None:
        """Log at DEBUG how many hosts each filter left, and some of those that are left."""
        if not LOG.isEnabledFor(logging.DEBUG):
            return
        hosts = [] if self.batch is None else self.batch.selector.hosts.column("host")
        shown = [*map(str, hosts[:_HOSTS_LOGGED_MAX])]
        if len(hosts) > len(shown):
            shown.append(f"{len(hosts) - len(shown):,} more")
        LOG.debug(
            "%s: Filter results: %s; hosts: %s",
            self.slots[0].instance_uuid, self.trace.filter_results,
            ", ".join(shown) or "none",
        )  # fmt: skip

    def for_retry(self) -> SchedulingRequest:
        """Return the request for a retry, with the server group members learned from its batch.

        Its fences are higher than those that released the claims of the first try.
        """
        fences = [int(Fence.from_int(fence).after(1)) for fence in self.request.fences]
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
