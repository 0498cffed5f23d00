"""Base of the work that waits for a scheduler's decision: builds, moves and claims."""

import abc
import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar, TypeVar

from armillary.backoff import Backoff
from armillary.concurrency import WorkerPool
from armillary.context import RequestContext
from conductor.common import leased_work
from conductor.common.clock import moment
from conductor.common.leased_work import PooledWork, RowTask, StepHook
from conductor.common.leases import Lease, Leases
from conductor.super_conductor.db import models
from conductor.super_conductor.peers import Environment, Peers
from conductor.super_conductor.permanent_failure import TOO_LATE, PermanentFailure
from objects.traces.decision_trace import DecisionTrace

LOG = logging.getLogger(__name__)


class SchedulingTask(RowTask):
    """One conductor's work on one request; each time it is taken, it waits longer for its peers."""

    def __init__(self, env: Environment, peers: Peers, lease: Lease) -> None:
        super().__init__(env.database, lease)
        self._env = env
        self._peers = peers
        self._take_count = 1

    @property
    @abc.abstractmethod
    def _context(self) -> RequestContext:
        """Context of the user's request; log lines from here on belong to it."""

    @property
    def retry_in_seconds(self) -> float:
        options = self._env.conf.conductor
        return self._backoff_seconds(options.retry_pause_seconds, options.lease_seconds)

    @property
    def _answer_timeout_seconds(self) -> float:
        """Seconds to wait for an answer; doubles with each take, as a slow peer is not dead."""
        conf = self._env.conf
        return self._backoff_seconds(
            conf.conductor.step_timeout_seconds, conf.rpc.long_timeout_seconds
        )

    def _backoff_seconds(self, first: float, most: float) -> float:
        return Backoff(first, most).seconds(self._take_count - 1)

    def _refuse_late(self, accepted_at: datetime, details: str = "") -> None:
        """Raise PermanentFailure after the scheduling deadline; ``details`` end its text."""
        limit = timedelta(seconds=self._env.conf.conductor.scheduling_deadline_seconds)
        if moment(self._env.now()) >= accepted_at + limit:
            text = f"Not scheduled within {limit.total_seconds():.0f} s"
            raise PermanentFailure(TOO_LATE, text + details)

    def _trace_of(self, reason: PermanentFailure) -> DecisionTrace:
        """Return a trace for a request that no scheduler decided on."""
        return DecisionTrace.from_values(
            request_id=self._context.request_id,
            created_at=moment(self._env.now()),
            sentence=reason.details,
        )


TaskT = TypeVar("TaskT", bound=SchedulingTask)


class SchedulingWork(PooledWork[TaskT]):
    """Runs new and abandoned tasks of one kind on a bounded number of workers."""

    ROW: ClassVar[type[models.Move | models.Claim]]
    TASK: Callable[[Environment, Peers, Leases, Lease, StepHook], TaskT]

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

    def _task(self, lease: Lease) -> TaskT:
        return self.TASK(self._env, self._peers, self.leases, lease, self._watch)

    @property
    def _values_of_take(self) -> Mapping[str, Any]:
        return {"takes": self.ROW.takes + 1}

    def _note_lost(self, lease: Lease) -> None:
        LOG.debug("%s: another conductor has taken it, or it has ended", lease.key)
