"""Carry claims out: schedule those that are new, release those that have ended.

A claim is stored before anything is claimed for it, under the UUID of its consumer in placement.
Its row is leased work: the lease of a claim that holds its resources expires at its end, and the
conductor that takes it then releases them.
"""

from __future__ import annotations

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
from conductor.super_conductor.claims.neighbourhood import Neighbourhood, NoHostYet
from conductor.super_conductor.db import claims, models
from conductor.super_conductor.db.claims import ClaimWork
from conductor.super_conductor.peers import Environment, Peers
from conductor.super_conductor.permanent_failure import REFUSED, TOO_LATE, PermanentFailure, cut
from conductor.super_conductor.scheduling_task import SchedulingTask
from objects.fence import FENCE_FINAL, Fence
from objects.resource_claim import ClaimState
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
        """Give up what missed the scheduling deadline, or its own end."""
        claim = self._work.claim
        self._refuse_late(claim.created_at)
        if claim.asked.ends_at is not None and claim.asked.ends_at <= moment(self._env.now()):
            raise PermanentFailure(TOO_LATE, "It has no pool, and its end has passed")

    def look_beside(self) -> None:
        """Find the aggregates of the claim's server, if it belongs to one."""
        server_uuid = self._work.claim.asked.server_uuid
        if server_uuid is not None:
            self._aggregates = self._beside.aggregates_beside(self._context, server_uuid)

    def select_pool(self) -> None:
        """Ask a scheduler for a pool and alternates."""
        claim = self._work.claim
        try:
            spec = spec_of(claim, get_kind(claim.asked.kind), aggregates=self._aggregates)
            found = self._peers.scheduler.select_destinations(
                self._context, spec, [claim.uuid], fences=[int(self._fence)],
                timeout_seconds=self._answer_timeout_seconds,
            )  # fmt: skip
        except exception.NoValidHost as error:
            self._trace = decision_traces.from_error(error.kwargs.get("trace"))
            sentence = error.kwargs.get("reason") or error.message
            raise PermanentFailure(cut(f"{NO_POOL} {sentence}"), sentence) from error
        except (exception.Invalid, exception.NotFound, exception.RequestFilterFailed) as error:
            raise PermanentFailure(REFUSED, error.message) from error
        self._selections = found.selections()[0]
        self._trace = found.trace

    def store_pool(self) -> None:
        """Store the pool; the claim is then held until its end."""
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
    Step("store pool", ClaimTask.store_pool),
)

END_STEPS: Sequence[Step[ClaimTask, None]] = (
    Step("release claim", ClaimTask.release),
    Step("remove claim", ClaimTask.remove),
)


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
