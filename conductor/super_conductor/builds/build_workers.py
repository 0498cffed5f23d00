"""Worker pool and queue of pending requests: new reservations, and those whose lease expired.

Requests are taken in the order of acceptance, without priorities or fair shares of projects.
New reservations that wait at the same time are processed together where possible.
"""

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from armillary.backoff import Backoff, KeyedBackoff
from armillary.concurrency import WorkerPool
from armillary.db import errors as db_errors
from conductor.common import leased_work
from conductor.common.leased_work import PooledWork, StepHook
from conductor.common.leases import Lease, Leases
from conductor.super_conductor.builds.build_group import BuildGroup
from conductor.super_conductor.builds.build_task import FAILURE_LENGTH_MAX, BuildTask
from conductor.super_conductor.builds.cell_handover import BuildServices, HandoverBatcher
from conductor.super_conductor.db.models import Reservation as ReservationRow
from conductor.super_conductor.peers import Environment, Peers
from objects.allocations import fence
from objects.packed.scheduling_batch import Answer

WALK_POLL_SECONDS = 0.1
"""Interval at which ``continue_walks`` has to be called."""
_WALK_BACKOFF = Backoff(0.1, 2.0, factor=1.3)
_SCHEDULING_MAX = 1  # groups being scheduled at a time; the next group grows meanwhile


class Builds(PooledWork[BuildTask]):
    """Starts, resumes and continues the processing of reservations, each under its lease."""

    def __init__(
        self,
        env: Environment,
        peers: Peers,
        leases: Leases,
        workers: WorkerPool,
        clean_up: Callable[[Sequence[str]], None],
        watch: StepHook = leased_work.no_hook,
    ) -> None:
        super().__init__(env.database, leases, workers)
        self._conf = env.conf
        batcher = HandoverBatcher(instances_max=env.conf.conductor.build_batch_size_max)
        self._services = BuildServices(env, peers, leases, batcher, clean_up, watch)
        self._guard = threading.Lock()
        self._waiting: deque[Lease] = deque()
        self._scheduling_count = 0
        self._walking = KeyedBackoff[Lease](_WALK_BACKOFF, env.now)

    @property
    def _values_of_take(self) -> Mapping[str, Any]:
        return {"fence": fence.next_attempt(ReservationRow.fence)}

    def _values_of_failure(self, error: Exception) -> Mapping[str, Any]:
        return {"failure": db_errors.reason_of(error)[:FAILURE_LENGTH_MAX]}

    def begin(self, lease: Lease) -> bool:
        """Queue a new reservation; it is processed together with others that are waiting.

        Returns False when all workers are busy; the lease is released, so any conductor may resume
        it.
        """
        self.keeper.keep(lease)
        with self._guard:
            self._waiting.append(lease)
        if self._submit(self._schedule_waiting):
            return True
        with self._guard:
            if lease not in self._waiting:
                return True  # a worker has picked it up meanwhile
            self._waiting.remove(lease)
        self._release_lease(lease)
        return False

    def _task(self, lease: Lease, answer: Answer | None = None) -> BuildTask:
        return BuildTask(self._services, lease, answer)

    def _run(self, task: BuildTask) -> None:
        super()._run(task)
        if task.is_waiting:
            self._walking.add(task.lease)
        else:
            self._walking.forget(task.lease)

    def continue_walks(self) -> None:
        """Continue reservations that wait for other zones, as far as workers are free."""
        for lease in self._walking.take_due():
            if not self._submit(self.work, lease):
                self._walking.add(lease)

    # Waiting reservations

    def _schedule_waiting(self) -> None:
        """Schedule all waiting reservations, including those that arrive meanwhile."""
        while leases := self._next_group():
            try:
                if len(leases) == 1:
                    self._submit_or_run(self.work, leases[0])
                else:
                    self._process_group(leases)
            finally:
                with self._guard:
                    self._scheduling_count -= 1

    def _next_group(self) -> list[Lease]:
        """Return the next waiting leases, or none while enough workers are scheduling groups.

        Those workers look for waiting leases again when they are done.
        """
        with self._guard:
            if self._scheduling_count >= _SCHEDULING_MAX or not self._waiting:
                return []
            self._scheduling_count += 1
            count = min(len(self._waiting), self._conf.conductor.build_batch_size_max)
            return [self._waiting.popleft() for _ in range(count)]

    def _process_group(self, leases: Sequence[Lease]) -> None:
        group = BuildGroup(self._services, leases)
        group.schedule()
        for lease, answer in group.alone.items():
            self._submit_or_run(self._run, self._task(lease, answer))
        self._submit_or_run(self._hand_over_group, group, leases)

    def _hand_over_group(self, group: BuildGroup, leases: Sequence[Lease]) -> None:
        try:
            group.hand_over()
            if group.failed:
                self._put_off(group.failed, self._conf.conductor.retry_pause_seconds)
        finally:
            for lease in set(leases).difference(group.alone):
                self.keeper.drop(lease)

    def _submit_or_run(self, work: Callable[..., None], *args: Any) -> None:
        """Pass work to another worker, so that waiting work is not delayed; else do it now."""
        if not self._submit(work, *args):
            work(*args)
