"""Carry claims out: schedule those that are new, release those that have ended.

A claim is stored before anything is claimed for it, under the UUID of its consumer in placement.
Its row is leased work: the lease of a claim that holds its resources expires at its end, and the
conductor that takes it then releases them.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from armillary import exception
from armillary.concurrency import WorkerPool
from armillary.context import RequestContext, admin_context
from conductor.common import leased_work
from conductor.common.clock import moment
from conductor.common.leased_work import LeaseLost, PooledWork, Step, StepHook
from conductor.common.leases import Lease, Leases
from conductor.super_conductor.builds import decision_traces
from conductor.super_conductor.claims.claim_specs import spec_of
from conductor.super_conductor.claims.neighbourhood import InAnotherZone, Neighbourhood, NoHostYet
from conductor.super_conductor.claims.remote_claims import RemoteClaims, asked_zone
from conductor.super_conductor.db import claims, models
from conductor.super_conductor.db.claims import ClaimWork
from conductor.super_conductor.peers import Environment, Peers
from conductor.super_conductor.permanent_failure import REFUSED, TOO_LATE, PermanentFailure, cut
from conductor.super_conductor.scheduling_task import SchedulingTask
from conductor.super_conductor.zones import paths
from objects.fence import FENCE_FINAL, Fence
from objects.resource_claim import ClaimState, ResourceClaim
from objects.resource_kinds import get_kind
from objects.selection import Selection
from objects.traces.decision_trace import DecisionTrace

LOG = logging.getLogger(__name__)

NO_POOL = "No pool fits."
_NEVER = 2.0**40
"""Seconds since 1970 at which nothing is left to do for a claim without an end."""


class ClaimTask(SchedulingTask):
    """One conductor's work on one claim."""

    def __init__(
        self, env: Environment, peers: Peers, leases: Leases, lease: Lease, watch: StepHook
    ) -> None:
        super().__init__(env, peers, lease)
        self._leases = leases
        self._watch = watch
        self._beside = Neighbourhood(env, peers)
        self._work: ClaimWork
        self._aggregates: Sequence[str] | None = None
        self._remote = RemoteClaims(env, peers)
        self._only_zone: str | None = None
        self._refused: PermanentFailure | None = None
        self._there: ResourceClaim | None = None
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

    def look_beside(self) -> None:
        """Find the aggregates of the claim's server, if it belongs to one, or its zone."""
        claim = self._work.claim
        server_uuid = claim.asked.server_uuid
        if server_uuid is None:
            return
        if claim.zone is not None:
            self._only_zone = claim.zone
            return
        try:
            self._aggregates = self._beside.aggregates_beside(self._context, server_uuid)
        except InAnotherZone as zone:
            self._only_zone = str(zone)

    def select_pool(self) -> None:
        """Ask a scheduler for a pool and alternates of this zone."""
        claim = self._work.claim
        if claim.zone is not None or self._only_zone is not None:
            return
        try:
            spec = spec_of(claim, get_kind(claim.asked.kind), aggregates=self._aggregates)
            found = self._peers.scheduler.select_destinations(
                self._context, spec, [claim.uuid], fences=[int(self._fence)],
                timeout_seconds=self._answer_timeout_seconds,
            )  # fmt: skip
        except exception.NoValidHost as error:
            self._trace = decision_traces.from_error(error.kwargs.get("trace"))
            sentence = error.kwargs.get("reason") or error.message
            self._refused = PermanentFailure(cut(f"{NO_POOL} {sentence}"), sentence)
            return
        except (exception.Invalid, exception.NotFound, exception.RequestFilterFailed) as error:
            raise PermanentFailure(REFUSED, error.message) from error
        self._selections = found.selections()[0]
        self._trace = found.trace

    def ask_zones(self) -> None:
        """Have the first zone make the claim that can, if this zone has no pool for it.

        The zone is stored before it is asked. The next one is asked when it is certain that this
        one holds nothing. Raises ZoneUnavailable while that is not known.
        """
        if self._selections:
            return
        reasons = self._work.reasons or ""
        if self._refused is not None:
            reasons = self._refused.message
        for path in self._zones_left():
            reason = self._ask_zone(path, cut(reasons))
            if reason is None:
                return
            reasons = f"{reasons} Zone {path}: {reason}".lstrip()
        raise PermanentFailure(cut(reasons or NO_POOL), reasons or NO_POOL)

    def _zones_left(self) -> list[str]:
        """Return the zones to ask, from the one on that an earlier try was asking."""
        if self._only_zone is not None:
            return [self._only_zone]
        asked = asked_zone(self._work.claim)
        return [name for name in self._remote.children() if asked is None or name >= asked]

    def _ask_zone(self, path: str, reasons: str) -> str | None:
        """Have a zone make the claim; return why it does not.

        ``reasons`` tell why those before do not.
        """
        claim, context = self._work.claim, self._context
        is_new = asked_zone(claim) != path
        try:
            found = self._remote.find(context, path, claim.uuid)
            if found is None:
                self._store_zone(path, reasons)
                is_new = False
                self._remote.create(context, path, claim.asked)
                found = self._remote.find(context, path, claim.uuid)
        except exception.ZoneNotFound as error:
            return error.message
        except exception.ZoneUnavailable as error:
            if not is_new:
                raise
            return error.message
        except (exception.Invalid, exception.NotFound) as error:
            return error.message
        if found is None:
            return "it ended there"
        if found.state == ClaimState.PENDING:
            raise NoHostYet(f"zone {path} is looking for a pool")
        if found.state == ClaimState.ACTIVE:
            self._there = dataclasses.replace(found, zone=_joined(path, found.zone))
            return None
        self._remote.end(context, path, claim.uuid)
        return found.fault or "it ended there"

    def _store_zone(self, path: str, reasons: str) -> None:
        if not self._env.database.run_in_writer(
            lambda session: claims.set_zone(session, self.lease, path, reasons=reasons)
        ):
            raise LeaseLost(self.lease.key)

    def store_pool(self) -> None:
        """Store the pool; the claim is then held until its end."""
        if self._there is not None:
            self._store_pool_of_zone(self._there)
            return
        pool, *alternates = self._selections
        ends_at = self._work.claim.asked.ends_at
        self._settle(
            free_at=_NEVER if ends_at is None else ends_at.timestamp(),
            state=ClaimState.ACTIVE,
            pool_uuid=pool.compute_node_uuid,
            pool_name=pool.service_host,
            alternates=[one.service_host for one in alternates],
        )
        LOG.info("%s: claimed of pool %s", self.lease.key, pool.service_host)

    def _store_pool_of_zone(self, there: ResourceClaim) -> None:
        ends_at = self._work.claim.asked.ends_at
        self._settle(
            free_at=_NEVER if ends_at is None else ends_at.timestamp(),
            state=ClaimState.ACTIVE,
            pool_uuid=there.pool_uuid,
            pool_name=there.pool_name,
            zone=there.zone,
            fault=None,
            alternates=there.alternates,
        )
        LOG.info("%s: claimed of pool %s in zone %s", there.uuid, there.pool_name, there.zone)

    def end_in_zone(self) -> None:
        """Have the zone end its claim that was asked for it. Raises ZoneUnavailable."""
        path = asked_zone(self._work.claim)
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
        self._env.database.run_in_writer(lambda session: claims.remove(session, self.lease))
        LOG.info("%s: claim ended", self.lease.key)

    # Helpers

    def _load(self) -> None:
        found = self._read(lambda session: claims.find(session, self.lease.key))
        if found is None:
            raise LeaseLost(self.lease.key)
        self._work, self._take_count = found, found.takes
        self._context.update_store()

    def _give_up(self, reason: PermanentFailure) -> None:
        LOG.info("%s: claim failed permanently: %s", self.lease.key, reason.details)
        self._trace = self._trace or self._trace_of(reason)
        ends_at = self._work.claim.asked.ends_at
        self._settle(
            free_at=_NEVER if ends_at is None else ends_at.timestamp(),
            state=ClaimState.ERROR,
            zone=None,
            fault=reason.message,
        )

    def _wait(self, reason: NoHostYet) -> None:
        LOG.info("%s: claim waits: %s", self.lease.key, reason)
        pause = self.retry_in_seconds
        self._env.database.run_in_writer(
            lambda session: self._leases.release(session, self.lease, retry_in_seconds=pause)
        )

    def _settle(self, *, free_at: float, **values: Any) -> None:
        """Store the outcome; if the claim's end was accepted meanwhile, end it."""
        now = moment(self._env.now())
        trace = self._plain_trace()
        is_stored = self._env.database.run_in_writer(
            lambda session: claims.settle(
                session, self.lease, free_at=free_at, now=now, trace=trace, **values
            )
        )
        if not is_stored:
            self._load()
            if self._work.claim.state != ClaimState.DELETING:
                raise LeaseLost(self.lease.key)
            leased_work.run(self, END_STEPS, self._watch)

    def _plain_trace(self) -> dict[str, Any] | None:
        if self._trace is None:
            return None
        split = decision_traces.split(self._trace, size_max=self._env.conf.conductor.trace_size_max)
        return {**split.shared, "choices": list(split.choices.values())}

    @property
    def _context(self) -> RequestContext:
        return self._work.context

    @property
    def _fence(self) -> Fence:
        return Fence.of_build(self._take_count)


STEPS: Sequence[Step[ClaimTask, None]] = (
    Step("release former claims of claim", ClaimTask.release_former_claims),
    Step("check deadline of claim", ClaimTask.check_deadline),
    Step("look beside server of claim", ClaimTask.look_beside),
    Step("select pool", ClaimTask.select_pool),
    Step("ask zones", ClaimTask.ask_zones),
    Step("store pool", ClaimTask.store_pool),
)

END_STEPS: Sequence[Step[ClaimTask, None]] = (
    Step("end claim in its zone", ClaimTask.end_in_zone),
    Step("release claim", ClaimTask.release),
    Step("remove claim", ClaimTask.remove),
)


def _joined(path: str, below: str | None) -> str:
    """Return the path of the zone below ``path`` that has the pool."""
    return paths.to_text([*paths.from_text(path), *paths.from_text(below or "")])


class Claims(PooledWork[ClaimTask]):
    """Runs new, ending and abandoned claims on a bounded number of workers."""

    def __init__(
        self,
        env: Environment,
        peers: Peers,
        leases: Leases,
        workers: WorkerPool,
        watch: StepHook = leased_work.no_hook,
    ) -> None:
        super().__init__(env.database, leases, workers)
        self._env = env
        self._peers = peers
        self._watch = watch

    @property
    def _values_of_take(self) -> Mapping[str, Any]:
        return {"takes": models.Claim.takes + 1}

    def _task(self, lease: Lease) -> ClaimTask:
        return ClaimTask(self._env, self._peers, self.leases, lease, self._watch)

    def end(self, uuid: str) -> None:
        """Accept the end of a claim, and release it soon."""
        now = moment(self._env.now())
        self._env.database.run_in_writer(lambda session: claims.end(session, [uuid], now=now))
        self.resume([uuid])

    def _note_lost(self, lease: Lease) -> None:
        LOG.debug("%s: another conductor has taken the claim, or it has ended", lease.key)
