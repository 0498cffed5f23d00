"""Lifecycle of simulated instances: builds with alternates, running time, end or loss."""

from __future__ import annotations

import enum
import fnmatch
import functools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from armillary.context import RequestContext
from objects import numa
from objects.allocations.allocation import AllocationClaim
from objects.allocations.fence import FENCE_FINAL, FIRST_FENCE
from objects.selection import Selection
from simulator.events import Order, Timeline
from simulator.fleet.host_states import Amounts, Host, HostStates, PlacedInstance
from simulator.load.groups import Groups
from simulator.load.load import Request
from simulator.memory_placement import MemoryPlacement
from simulator.results.outcome_counts import OutcomeCounts
from simulator.scenario.scenario import Scenario

RELEASES_MAX = 1000
NOT_BUILT = "builds failed on all hosts that were tried"
CONTEXT = RequestContext(user_id="simulation", is_admin=True, request_id="req-simulation")


class State(enum.Enum):
    """State of an instance in its lifecycle."""

    BUILDING = "building"
    RUNNING = "running"
    GONE = "gone"


@dataclass(slots=True)
class Instance:
    """One instance: its request, its possible hosts, its current host."""

    number: int
    uuid: str
    request: Request
    lifetime_seconds: float
    selections: Sequence[Selection]
    properties: Sequence[str] = ()
    numa: numa.InstanceTopology | None = None
    """The requested NUMA topology, if any."""
    attempt: int = 0
    state: State = State.BUILDING
    host: Host | None = None
    tenant: PlacedInstance | None = None


class InstanceLifecycles:
    """Start instances and schedule the events that follow.

    ``needed`` has the resources of each flavor, for drivers that claim nothing.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        book: HostStates,
        groups: Groups,
        needed: Mapping[str, Mapping[str, int]],
        placement: MemoryPlacement,
        tally: OutcomeCounts,
        timeline: Timeline,
    ) -> None:
        self._builds = scenario.builds
        self._seed = scenario.seed
        self._book = book
        self._groups = groups
        self._needed = needed
        self._placement = placement
        self._tally = tally
        self._timeline = timeline
        self._instances: dict[str, Instance] = {}
        self._to_release: list[str] = []

    def begin(self, instance: Instance) -> None:
        """Start to build an instance on the host claimed for it."""
        self._instances[instance.uuid] = instance
        self._tally.building += 1
        self._enter(instance)

    def lose(self, host: Host, *, keeps_instances: bool) -> None:
        """Handle a failed host: builds continue elsewhere, other instances are lost."""
        instances = [self._instances[uuid] for uuid in host.tenants]
        for instance in instances:
            if instance.state is State.BUILDING:
                self._try_next(instance)
        if keeps_instances:
            return
        for instance in [each for each in instances if each.host is host]:
            self._release(instance)
            self._leave(instance)
            self._tally.running -= 1
            self._tally.lost += 1
            self._note("lost", instance, host)

    def settle(self) -> None:
        """Release ended instances in placement; must be called before each placement query."""
        for first in range(0, len(self._to_release), RELEASES_MAX):
            part = self._to_release[first : first + RELEASES_MAX]
            self._placement.release(CONTEXT, dict.fromkeys(part, FENCE_FINAL))
        self._to_release.clear()

    # A build --------------------------------------------------------------------------------------

    def _enter(self, instance: Instance) -> None:
        request = instance.request
        host, amounts = self._place(instance)
        fitted = self._fitted(instance, host)
        is_fitted = fitted is not None or instance.numa is None or host.numa is None
        if not is_fitted or not self._book.has_room(host, amounts):
            self._tally.hosts_refused += 1  # as its agent does: the host was chosen with older data
            self._go_on(instance)
            return
        instance.host = host
        instance.tenant = PlacedInstance(
            instance.uuid, request.flavor, request.project, amounts, instance.properties, fitted
        )
        self._book.enter(host, instance.tenant)
        self._groups.enter(request.group, instance.uuid, host)
        self._note("placed", instance, host)
        rng = random.Random(f"{self._seed}/{instance.number}/{instance.attempt}")  # noqa: S311
        is_failing = rng.random() < self._builds.failure_rate
        done = functools.partial(self._build_ends, instance, instance.attempt, is_failing)
        seconds = self._builds.seconds.draw(rng)
        if seconds:
            self._timeline.plan(self._timeline.now + seconds, Order.BUILT, done)
        else:
            done()

    def _build_ends(self, instance: Instance, attempt: int, is_failing: bool) -> None:
        host, tenant = instance.host, instance.tenant
        if instance.state is not State.BUILDING or instance.attempt != attempt:
            return  # its host failed before, and that was noticed
        assert host is not None, "a building instance has a host"
        assert tenant is not None, "and resources on it"
        if is_failing or host.is_down or self._is_bad(host.name):
            self._try_next(instance)
            return
        self._book.built(host, tenant)
        instance.state = State.RUNNING
        self._tally.building -= 1
        self._tally.accepted += 1
        self._tally.running += 1
        end = self._timeline.now + instance.lifetime_seconds
        self._timeline.plan(end, Order.END, functools.partial(self._end, instance))

    def _try_next(self, instance: Instance) -> None:
        self._leave(instance, is_failed=True)
        self._go_on(instance)

    def _go_on(self, instance: Instance) -> None:
        """Take the next alternate that has room, as a cell conductor does, or give up."""
        while instance.attempt + 1 < len(instance.selections):
            instance.attempt += 1
            if self._claim(instance):
                self._tally.retries += 1
                self._enter(instance)
                return
            self._tally.hosts_refused += 1
        self._release(instance)
        instance.state = State.GONE
        self._tally.building -= 1
        self._tally.failed += 1
        tried = len(instance.selections)
        self._tally.refusals.add(
            NOT_BUILT, f"{tried} hosts were selected, but none of them could build it.", 1
        )
        self._tally.happened(self._timeline.now, "failed", instance.uuid)
        del self._instances[instance.uuid]

    def _claim(self, instance: Instance) -> bool:
        allocations = instance.selections[instance.attempt].allocation_request
        if not allocations:
            return True  # the driver does not claim: the host checks whether it has room
        self.settle()
        request = instance.request
        (result,) = self._placement.claim(
            CONTEXT,
            [
                AllocationClaim(
                    consumer_uuid=instance.uuid,
                    project_id=request.project,
                    user_id=request.project,
                    allocations=allocations,
                    fence=int(FIRST_FENCE.after(instance.attempt)),
                    replace=True,
                )
            ],
        )
        return result.is_claimed

    def _place(self, instance: Instance) -> tuple[Host, Amounts]:
        """Return the host of the current attempt, and the instance's resources there."""
        selection = instance.selections[instance.attempt]
        resources = self._needed[instance.request.flavor]
        if selection.allocation_request:
            (item,) = selection.allocation_request.values()
            resources = item["resources"]
        host = self._book.by_uuid[selection.compute_node_uuid]
        return host, self._book.amounts_of(resources)

    def _fitted(self, instance: Instance, host: Host) -> numa.InstanceTopology | None:
        """Return the instance's NUMA cells as the host's agent fits them, None if it cannot."""
        if instance.numa is None or host.numa is None:
            return None
        limits = instance.selections[instance.attempt].limits
        ratios = None if limits is None else limits.numa_topology
        return numa.fit(host.numa, instance.numa, limits=ratios)

    def _is_bad(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, glob) for glob in self._builds.failing_hosts)

    # The end --------------------------------------------------------------------------------------

    def _end(self, instance: Instance) -> None:
        if instance.state is not State.RUNNING:
            return  # lost earlier
        host = instance.host
        self._release(instance)
        self._leave(instance)
        self._tally.running -= 1
        self._tally.ended += 1
        self._note("ended", instance, host)

    def _leave(self, instance: Instance, *, is_failed: bool = False) -> None:
        assert instance.host is not None, "it has a host"
        assert instance.tenant is not None, "and resources on it"
        self._book.leave(instance.host, instance.tenant, is_failed=is_failed)
        self._groups.leave(instance.request.group, instance.uuid)
        instance.host = instance.tenant = None
        if not is_failed:
            instance.state = State.GONE
            del self._instances[instance.uuid]

    def _release(self, instance: Instance) -> None:
        """Defer the release of a claim to the next batch; this is invisible until the next query.

        This makes one transaction of several.
        """
        self._to_release.append(instance.uuid)

    def _note(self, what: str, instance: Instance, host: Host | None) -> None:
        name = host.name if host is not None else "?"
        self._tally.happened(self._timeline.now, what, instance.uuid, name)
