"""Worker pool for reservations: new ones, and those whose lease expired.

New reservations that wait at the same time are processed together where possible.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from armillary import exception, service_metrics
from armillary.backoff import Backoff, KeyedBackoff
from armillary.concurrency import WorkerPool, WorkerPoolFull
from conductor.common.leases import Lease
from conductor.super_conductor import base_task
from conductor.super_conductor.base_task import Dependencies, LeaseLost, StepHook
from conductor.super_conductor.build.build_group import BuildGroup
from conductor.super_conductor.build.build_task import FAILURE_LENGTH_MAX, BuildTask
from conductor.super_conductor.db.models import Reservation as ReservationRow
from objects import fence
from objects.packed.scheduling_batch import Answer

LOG = logging.getLogger(__name__)

WALK_POLL_SECONDS = 0.1
"""Interval at which ``continue_walks`` has to be called."""
_WALK_BACKOFF = Backoff(0.1, 2.0, factor=1.3)
_CHOOSING_MAX = 1  # groups being scheduled at a time; the next group grows meanwhile


class Builds:
    """Starts, resumes and continues the processing of reservations, each under its lease."""

    def __init__(
        self,
        parts: Dependencies,
        workers: WorkerPool,
        clean_up: Callable[[Sequence[str]], None],
        watch: StepHook = base_task.no_hook,
    ) -> None:
        self._parts = parts
        self._workers = workers
        self._clean_up = clean_up
        self._watch = watch
        self._guard = threading.Lock()
        self._waiting: deque[Lease] = deque()
        self._choosing = 0
        self._walking = KeyedBackoff[Lease](_WALK_BACKOFF, parts.now)

    def begin(self, lease: Lease) -> bool:
        """Queue a new reservation; it is processed together with others that are waiting.

        Returns False when all workers are busy; the lease is released, so any conductor may resume
        it.
        """
        self._parts.keeper.keep(lease)
        with self._guard:
            self._waiting.append(lease)
        if self._submit(self._choose_for_all):
            return True
        with self._guard:
            if lease not in self._waiting:
                return True  # a worker has picked it up meanwhile
            self._waiting.remove(lease)
        self._give_back(lease)
        return False

    def resume(self, reservation_ids: Sequence[str]) -> None:
        """Resume reservations with expired leases, as many as there are free workers."""
        for reservation_id in reservation_ids:
            lease = self._take(reservation_id)
            if lease is None:
                continue
            LOG.info("%s: resumed", reservation_id)
            self._parts.keeper.keep(lease)
            if not self._submit(self.work, lease):
                self._give_back(lease)
                return

    def work(self, lease: Lease, answer: Answer | None = None) -> None:
        """Process a reservation now; after a failure release it for a retry.

        ``answer`` is the scheduler's answer, if it was asked already.
        """
        task = BuildTask(self._parts, lease, self._clean_up, self._watch, answer)
        try:
            task.run()
            if task.waits_for_zones:
                self._walking.add(lease)
                return
        except LeaseLost:
            service_metrics.lease_lost()
            LOG.warning("%s: taken over by another conductor", lease.key)
        except Exception as error:
            self._put_off({lease: error}, task.retry_in_seconds)
        finally:
            if not task.waits_for_zones:
                self._walking.forget(lease)
                self._parts.keeper.drop(lease)

    def continue_walks(self) -> None:
        """Continue reservations that wait for other zones, as far as workers are free."""
        for lease in self._walking.take_due():
            if not self._submit(self.work, lease):
                self._walking.add(lease)

    # Waiting reservations

    def _choose_for_all(self) -> None:
        """Schedule all waiting reservations, including those that arrive meanwhile."""
        while leases := self._next_group():
            try:
                if len(leases) == 1:
                    self._go_on(self.work, leases[0])
                else:
                    self._work_together(leases)
            finally:
                with self._guard:
                    self._choosing -= 1

    def _next_group(self) -> list[Lease]:
        """Return the next waiting leases, or none while enough workers are scheduling groups.

        Those workers look for waiting leases again when they are done.
        """
        with self._guard:
            if self._choosing >= _CHOOSING_MAX or not self._waiting:
                return []
            self._choosing += 1
            count = min(len(self._waiting), self._parts.conf.conductor.build_batch_size_max)
            return [self._waiting.popleft() for _ in range(count)]

    def _work_together(self, leases: Sequence[Lease]) -> None:
        group = BuildGroup(self._parts, leases, self._clean_up, self._watch)
        group.choose()
        for one in group.alone:
            self._go_on(self.work, one.lease, one.answer)
        self._go_on(self._end_together, group, leases)

    def _end_together(self, group: BuildGroup, leases: Sequence[Lease]) -> None:
        try:
            group.hand_over()
            if group.failed:
                self._put_off(group.failed, self._parts.conf.conductor.retry_pause_seconds)
        finally:
            for lease in set(leases).difference(one.lease for one in group.alone):
                self._parts.keeper.drop(lease)

    def _go_on(self, work: Callable[..., None], *args: Any) -> None:
        """Pass work to another worker, so that waiting work is not delayed; or do it now."""
        if not self._submit(work, *args):
            work(*args)

    def _submit(self, work: Callable[..., None], *args: Any) -> bool:
        try:
            self._workers.submit(work, *args)
        except (WorkerPoolFull, RuntimeError):  # RuntimeError: the process is stopping
            return False
        return True

    # Leases

    def _give_back(self, lease: Lease) -> None:
        self._parts.keeper.drop(lease)
        self._release({lease: None}, 0.0)

    def _put_off(self, failed: Mapping[Lease, Exception], pause_seconds: float) -> None:
        for lease, error in failed.items():
            LOG.warning("%s: outcome unknown, will retry: %s", lease.key, error)
            LOG.debug("%s: cause of the retry", lease.key, exc_info=error)
        self._release({lease: str(error) for lease, error in failed.items()}, pause_seconds)

    def _take(self, reservation_id: str) -> Lease | None:
        return self._parts.database.run_in_writer(
            lambda session: self._parts.reservations.take(
                session, reservation_id, fence=fence.next_attempt(ReservationRow.fence)
            )
        )

    def _release(self, failures: Mapping[Lease, str | None], pause_seconds: float) -> None:
        """Release leases, each with the error of its work, if any."""

        def write(session: Session) -> None:
            for lease, failure in failures.items():
                said = {} if failure is None else {"failure": failure[:FAILURE_LENGTH_MAX]}
                self._parts.reservations.release(
                    session, lease, retry_in_seconds=pause_seconds, **said
                )

        try:
            self._parts.database.run_in_writer(write)
        except exception.DatabaseUnavailable as error:
            keys = ", ".join(lease.key for lease in failures)
            LOG.warning("%s: cannot release leases, they will expire: %s", keys, error)
