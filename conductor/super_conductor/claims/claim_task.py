"""Carry claims out: schedule those that are new, release those that have ended.

A claim is stored before anything is claimed for it, under the UUID of its consumer in placement.
Its row is leased work: the lease of a claim that holds its resources expires at its end, and the
conductor that takes it then releases them.
"""

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from armillary import exception
from armillary.context import RequestContext, admin_context
from conductor.common import leased_work
from conductor.common.clock import moment
from conductor.common.leased_work import LeaseLost, Step, StepHook
from conductor.common.leases import Lease, Leases
from conductor.super_conductor.builds import decision_traces
from conductor.super_conductor.claims.claim_specs import spec_of
from conductor.super_conductor.claims.remote_claims import RemoteClaims
from conductor.super_conductor.claims.server_aggregates import (
    InAnotherZone,
    NoHostYet,
    ServerAggregates,
)
from conductor.super_conductor.db import claims, models
from conductor.super_conductor.db.claims import ClaimWork
from conductor.super_conductor.peers import Environment, Peers
from conductor.super_conductor.permanent_failure import (
    REFUSALS,
    REFUSED,
    TOO_LATE,
    PermanentFailure,
    cut,
)
from conductor.super_conductor.scheduling_task import SchedulingTask, SchedulingWork
from conductor.super_conductor.zones import absence, paths
from objects.allocations.fence import FENCE_FINAL, Fence
from objects.claims.resource_claim import ClaimState, ResourceClaim
from objects.claims.resource_kinds import get_kind
from objects.destinations import Destinations
from objects.selection import Selection
from objects.traces.decision_trace import DecisionTrace, PlainTrace

LOG = logging.getLogger(__name__)

NO_POOL = "No pool fits."
LATE_SECONDS_MAX = 3600.0
"""Seconds for which a zone knows a claim that it could not serve, or that ended before it came."""
_ENDED_THERE = "it ended there"
_NEVER = 2.0**40
"""Seconds since 1970 at which nothing is left to do for a claim without an end."""


class _NoPool(PermanentFailure):
    """No pool that the scheduler may choose fits."""


class ClaimTask(SchedulingTask):
    """One conductor's work on one claim."""

    def __init__(
        self, env: Environment, peers: Peers, leases: Leases, lease: Lease, watch: StepHook
    ) -> None:
        super().__init__(env, peers, lease)
        self._leases = leases
        self._watch = watch
        self._server_aggregates = ServerAggregates(env, peers)
        self._work: ClaimWork
        self._aggregates: Sequence[str] | None = None
        self._remote = RemoteClaims(peers)
        self._only_zone: str | None = None
        self._entries: list[str] = []
        self._failed_zones: list[str] = []
        self._silent_zones: list[str] = []
        self._claim_in_zone: ResourceClaim | None = None
        self._selections: list[Selection] = []
        self._trace: DecisionTrace | None = None

    def run(self) -> None:
        """Schedule the claim, or release what it holds if it has ended."""
        self._load()
        claim = self._work.claim
        if claim.state == ClaimState.PENDING:
            try:
                leased_work.run(self, STEPS, self._watch)
            except PermanentFailure as reason:
                self._give_up(reason)
            except NoHostYet as reason:
                self._wait(reason)
        else:
            leased_work.run(self, END_STEPS, self._watch)

    # Steps

    def release_former_claims(self) -> None:
        """Release what an earlier try of unknown outcome claimed, and block its late claims."""
        if self._take_count > 1:
            self._peers.placement.release(
                admin_context(), {self.lease.key: int(self._fence.before)}
            )

    def check_deadline(self) -> None:
        """Give up what missed the scheduling deadline, or its own end.

        What another zone was asked for is not given up before that zone has answered.
        """
        claim = self._work.claim
        if claim.zone is not None:
            return
        self._refuse_late(claim.created_at)
        if claim.asked.ends_at is not None and claim.asked.ends_at <= moment(self._env.now()):
            raise PermanentFailure(TOO_LATE, "It has no pool, and its end has passed")

    def find_server_aggregates(self) -> None:
        """Find the aggregates of the claim's server, if it belongs to one, or its zone."""
        claim = self._work.claim
        server_uuid = claim.asked.server_uuid
        if server_uuid is None:
            return
        if claim.zone is not None:
            self._only_zone = claim.zone
            return
        try:
            self._aggregates = self._server_aggregates.find(self._context, server_uuid)
        except InAnotherZone as zone:
            self._only_zone = str(zone)

    def select_pool(self) -> None:
        """Ask a scheduler for a pool of this zone, or for the best pools of all zones."""
        claim = self._work.claim
        if claim.zone is not None or self._only_zone is not None:
            return
        asked = claim.asked
        is_for_all = asked.server_uuid is None and not asked.is_delegated
        try:
            found = self._select(takes_zones=is_for_all)
        except _NoPool:
            wait = absence.reason_to_wait(self._env, self._trace, claim.created_at)
            if wait is not None:
                raise NoHostYet(wait) from None
            raise
        self._trace = found.trace
        if not found.zone_entries:
            self._selections = found.selections()[0]
            return
        self._entries = [_entry(one) for one in found.zone_entries]

    def _select(self, *, takes_zones: bool) -> Destinations:
        """Return a scheduler's decision. Raises _NoPool, PermanentFailure."""
        claim = self._work.claim
        try:
            spec = spec_of(claim, get_kind(claim.asked.kind), aggregates=self._aggregates)
            return self._peers.scheduler.select_destinations(
                self._context, spec, [claim.uuid], fences=[int(self._fence)],
                takes_zones=takes_zones, timeout_seconds=self._answer_timeout_seconds,
            )  # fmt: skip
        except exception.NoValidHost as error:
            self._trace = self._trace or decision_traces.from_error(error.kwargs.get("trace"))
            sentence = error.kwargs.get("reason") or error.message
            raise _NoPool(cut(f"{NO_POOL} {sentence}"), sentence) from error
        except REFUSALS as error:
            raise PermanentFailure(REFUSED, error.message) from error

    def try_zones(self) -> None:
        """Have the claim made by the first zone that can, in the order of their best pools.

        Each zone chooses among its own pools. Another zone is stored before it is asked. The next
        one is asked when it is certain that this one holds nothing. Raises ZoneUnavailable while
        that is not known; NoHostYet if only zones that do not answer are left.
        """
        if self._selections:
            return
        reasons = self._work.reasons or ""
        for path in self._zones_left():
            reason = self._ask_zone(path, reasons) if path else self._try_own()
            if reason is None:
                self._entries = self._entries_beyond(path)
                return
            LOG.info("%s: no claim in zone %s: %s", self.lease.key, path or "(own)", reason)
            where = "Another" if path else "This"  # users see it, but no names of zones
            reasons = cut(f"{reasons} {where} zone: {reason}".lstrip())
        wait = absence.wait_for(self._env, self._silent_zones, self._work.claim.created_at)
        if wait is not None:
            raise NoHostYet(wait)
        raise PermanentFailure(reasons or NO_POOL, reasons or NO_POOL)

    def _zones_left(self) -> list[str]:
        """Return the zones to ask, from the one on that an earlier try was asking."""
        if self._only_zone is not None:
            return [self._only_zone]
        asked = self._work.claim.zone
        first = [] if asked is None else [asked]
        return list(dict.fromkeys([*first, *map(_path, self._entries)]))

    def _entries_beyond(self, path: str) -> list[str]:
        """Return the entries of the zones that have not been asked once this one is."""
        zones = self._zones_left()
        left = set(zones[zones.index(path) + 1 :])
        return [one for one in self._entries if _path(one) in left]

    def _try_own(self) -> str | None:
        """Claim of an own pool; return why that cannot be."""
        try:
            found = self._select(takes_zones=False)
        except _NoPool as reason:
            return reason.message
        self._selections = found.selections()[0]
        return None

    def _ask_zone(self, path: str, reasons: str) -> str | None:
        """Have a zone make the claim; return why it does not.

        ``reasons`` tell why those before do not.
        """
        claim, context = self._work.claim, self._context
        is_new = claim.zone != path
        try:
            found = self._remote.find(context, path, claim.uuid)
            if found is None:
                if is_new:
                    self._store_zone(path, reasons)
                    is_new = False
                self._remote.create(context, path, claim.asked)
                found = self._remote.find(context, path, claim.uuid)
        except exception.ZoneNotFound:
            return "it was removed"
        except exception.ZoneUnavailable:
            if not is_new:
                raise
            self._silent_zones.append(path)
            return "it does not answer"
        except (exception.Invalid, exception.NotFound) as error:
            return error.message
        if found is None:
            return _ENDED_THERE
        if found.state == ClaimState.PENDING:
            raise NoHostYet(f"zone {path} is looking for a pool")
        if found.state == ClaimState.ACTIVE:
            self._claim_in_zone = dataclasses.replace(found, zone=path)
            return None
        self._failed_zones.append(path)
        return found.fault or _ENDED_THERE

    def _store_zone(self, path: str, reasons: str) -> None:
        """Store that a zone is asked next, and end what zones before it could not serve."""
        entries, trace = self._entries_beyond(path), self._plain_trace()
        if not self._env.database.run_in_writer(
            claims.set_zone, self.lease, path, entries=entries, reasons=reasons, trace=trace
        ):
            raise LeaseLost(self.lease.key)
        self._end_failed()

    def _end_failed(self) -> None:
        """End the claims of zones that could not serve them; those not reached do so by themselves.

        That is after the outcome is stored: a zone that is asked again must still know its claim.
        """
        while self._failed_zones:
            path = self._failed_zones.pop()
            try:
                self._remote.end(self._context, path, self.lease.key)
            except (exception.Unavailable, exception.NotFound) as error:
                LOG.info("%s: a claim in ERROR is left in zone %s for an hour: %s",
                         self.lease.key, path, error)  # fmt: skip

    def store_pool(self) -> None:
        """Store the pool; the claim is then held until its end."""
        there = self._claim_in_zone
        if there is not None:
            zone, uuid, name = there.zone, there.pool_uuid, there.pool_name
            alternates = [f"{zone}:{alternate}" for alternate in there.alternates]
        else:
            pool, *others = self._selections
            zone, uuid, name = None, pool.compute_node_uuid, pool.service_host
            alternates = [other.service_host for other in others]
        self._settle(
            free_at=self._ends_at,
            state=ClaimState.ACTIVE,
            pool_uuid=uuid,
            pool_name=name,
            zone=zone,
            fault=None,
            alternates=[*alternates, *map(_shown, self._entries)],
        )
        self._end_failed()
        LOG.info("%s: claimed from pool %s of zone %s", self.lease.key, name, zone or "(own)")

    def end_in_zone(self) -> None:
        """Have the zone end its claim that was asked for it. Raises ZoneUnavailable."""
        path = self._work.claim.zone
        if path is None:
            return
        try:
            self._remote.end(self._context, path, self.lease.key)
        except exception.ZoneNotFound:
            LOG.warning("%s: zone %s was removed, its claim may be left", self.lease.key, path)

    def release(self) -> None:
        """Release what the claim holds, and block late claims."""
        self._peers.placement.release(admin_context(), {self.lease.key: FENCE_FINAL})

    def remove(self) -> None:
        """Delete the record; nothing is left of the claim."""
        self._env.database.run_in_writer(claims.remove, self.lease)
        LOG.info("%s: claim ended", self.lease.key)

    # Helpers

    def _load(self) -> None:
        found = self._read(lambda session: claims.find(session, self.lease))
        if found is None:
            raise LeaseLost(self.lease.key)
        self._work, self._take_count = found, found.takes
        self._entries = found.entries
        self._context.update_store()

    def _give_up(self, reason: PermanentFailure) -> None:
        LOG.info("%s: claim failed permanently: %s", self.lease.key, reason.details)
        claim = self._work.claim
        if self._trace is None and (claim.zone is None or claim.asked.server_uuid is not None):
            self._trace = self._trace_of(reason)
        elif self._trace is not None and not self._trace.sentence:
            self._trace.sentence = reason.details
        free_at = self._ends_at
        if claim.asked.is_delegated:  # the zone that asked may never come to end it
            free_at = min(free_at, self._env.now() + LATE_SECONDS_MAX)
        self._settle(
            free_at=free_at, state=ClaimState.ERROR, zone=None, alternates=[], fault=reason.message
        )
        self._end_failed()

    def _wait(self, reason: NoHostYet) -> None:
        LOG.info("%s: claim waits: %s", self.lease.key, reason)
        pause = self.retry_in_seconds
        self._env.database.run_in_writer(self._leases.release, self.lease, retry_in_seconds=pause)

    def _settle(self, *, free_at: float, **values: Any) -> None:
        """Store the outcome; if the claim's end was accepted meanwhile, end it."""
        now = moment(self._env.now())
        trace = self._plain_trace()
        is_stored = self._env.database.run_in_writer(
            claims.settle, self.lease, free_at=free_at, now=now, trace=trace, **values
        )
        if not is_stored:
            self._load()
            if self._work.claim.state != ClaimState.DELETING:
                raise LeaseLost(self.lease.key)
            leased_work.run(self, END_STEPS, self._watch)

    def _plain_trace(self) -> PlainTrace | None:
        if self._trace is None:
            return None
        size_max = self._env.conf.conductor.trace_size_max
        return decision_traces.split(self._trace, size_max=size_max).whole()

    @property
    def _ends_at(self) -> float:
        """Seconds since 1970 at which the claim's resources are free again."""
        ends_at = self._work.claim.asked.ends_at
        return _NEVER if ends_at is None else ends_at.timestamp()

    @property
    def _context(self) -> RequestContext:
        return self._work.context

    @property
    def _fence(self) -> Fence:
        return Fence.of_build(self._take_count)


STEPS: Sequence[Step[ClaimTask, None]] = (
    Step("release former claims of claim", ClaimTask.release_former_claims),
    Step("check deadline of claim", ClaimTask.check_deadline),
    Step("find aggregates of server of claim", ClaimTask.find_server_aggregates),
    Step("select pool", ClaimTask.select_pool),
    Step("try zones of claim", ClaimTask.try_zones),
    Step("store pool", ClaimTask.store_pool),
)

END_STEPS: Sequence[Step[ClaimTask, None]] = (
    Step("end claim in its zone", ClaimTask.end_in_zone),
    Step("release claim", ClaimTask.release),
    Step("remove claim", ClaimTask.remove),
)


def _entry(offered: Mapping[str, Any]) -> str:
    """Return an offered pool as text: its zone, and its name in the own zone or its UUID."""
    return f"{paths.to_text(offered['path'])}:{offered.get('host', offered['host_id'])}"


def _path(entry: str) -> str:
    return entry.partition(":")[0]


def _shown(entry: str) -> str:
    """Return an entry as users see it: those of the own zone are names of pools."""
    return entry.removeprefix(":")


class Claims(SchedulingWork[ClaimTask]):
    """Runs new, ending and abandoned claims on a bounded number of workers."""

    ROW = models.Claim
    TASK = ClaimTask

    def end(self, uuid: str) -> None:
        """Accept the end of a claim, and release it soon."""
        now = moment(self._env.now())
        self._env.database.run_in_writer(claims.end, [uuid], now=now)
        self.resume([uuid])
