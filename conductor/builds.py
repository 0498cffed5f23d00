"""Have reservations worked on by a bounded number of workers: new ones, and those left lying.

New ones that wait at the same time are worked on together as far as that goes.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from armillary import exception, measures
from armillary.concurrency import WorkerPool, WorkerPoolFull
from conductor.api_db.models import Reservation as ReservationRow
from conductor.build_group import BuildGroup
from conductor.leases import Lease
from conductor.tasks import base
from conductor.tasks.base import LeaseLost, Parts, Watch
from conductor.tasks.build import FAILURE_LENGTH_MAX, BuildTask
from conductor.zones.pauses import Pauses
from objects.allocation import FENCE_STEP
from objects.scheduling_batch import Answer

LOG = logging.getLogger(__name__)

_CHOOSING_MAX = 1  # groups for which hosts are looked for at a time; the next one grows meanwhile


class Builds:
    """Begins, takes up and goes on with the work on reservations, each under its lease."""

    def __init__(
        self,
        parts: Parts,
        workers: WorkerPool,
        clean_up: Callable[[Sequence[str]], None],
        watch: Watch = base.unwatched,
    ) -> None:
        self._parts = parts
        self._workers = workers
        self._clean_up = clean_up
        self._watch = watch
        self._guard = threading.Lock()
        self._waiting: deque[Lease] = deque()
        self._choosing = 0
        self._walking = Pauses(parts.now)

    def begin(self, lease: Lease) -> bool:
        """Have a new reservation worked on, soon, with others that wait when its turn comes.

        False when all are busy: another conductor may take it up.
        """
        self._parts.keeper.keep(lease)
        with self._guard:
            self._waiting.append(lease)
        if self._submit(self._choose_for_all):
            return True
        with self._guard:
            if lease not in self._waiting:
                return True  # somebody found it there all the same
            self._waiting.remove(lease)
        self._give_back(lease)
        return False

    def resume(self, reservation_ids: Sequence[str]) -> None:
        """Take up reservations that nobody works on, as many as there are workers for."""
        for reservation_id in reservation_ids:
            lease = self._take(reservation_id)
            if lease is None:
                continue
            LOG.info("%s: taken up again", reservation_id)
            self._parts.keeper.keep(lease)
            if not self._submit(self.work, lease):
                self._give_back(lease)
                return

    def work(self, lease: Lease, answer: Answer | None = None) -> None:
        """Work on a reservation now; on any failure leave it to be taken up after a pause.

        ``answer`` is what a scheduler answered to it already.
        """
        task = BuildTask(self._parts, lease, self._clean_up, self._watch, answer)
        try:
            task.run()
            if task.waits_for_zones:
                self._walking.add(lease)
                return
        except LeaseLost:
            measures.lease_lost()
            LOG.warning("%s: another conductor works on it now", lease.key)
        except Exception as error:
            self._put_off({lease: error}, task.retry_in_seconds)
        finally:
            if not task.waits_for_zones:
                self._walking.forget(lease)
                self._parts.keeper.drop(lease)

    def walk_on(self) -> None:
        """Go on with reservations that wait for other zones, as far as there are workers."""
        for lease in self._walking.due():
            if not self._submit(self.work, lease):
                self._walking.add(lease)

    # Those that wait

    def _choose_for_all(self) -> None:
        """Take all that waits, and what comes meanwhile, as far as finding hosts."""
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
        """Return what waits, unless enough are at it; whoever is looks again when it is done."""
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
        """Have something done by another worker, so that what waits need not; or do it now."""
        if not self._submit(work, *args):
            work(*args)

    def _submit(self, work: Callable[..., None], *args: Any) -> bool:
        try:
            self._workers.submit(work, *args)
        except (WorkerPoolFull, RuntimeError):  # the latter when this process is about to end
            return False
        return True

    # Leases

    def _give_back(self, lease: Lease) -> None:
        self._parts.keeper.drop(lease)
        self._let_go({lease: None}, 0.0)

    def _put_off(self, failed: Mapping[Lease, Exception], pause_seconds: float) -> None:
        for lease, error in failed.items():
            LOG.warning("%s: outcome unknown, will be tried again: %s", lease.key, error)
            LOG.debug("%s: because of", lease.key, exc_info=error)
        self._let_go({lease: str(error) for lease, error in failed.items()}, pause_seconds)

    def _take(self, reservation_id: str) -> Lease | None:
        return self._parts.database.run_in_writer(
            lambda session: self._parts.reservations.take(
                session, reservation_id, fence=ReservationRow.fence + FENCE_STEP
            )
        )

    def _let_go(self, failures: Mapping[Lease, str | None], pause_seconds: float) -> None:
        """Give leases back, each with what its work ran into, if anything."""

        def write(session: Session) -> None:
            for lease, failure in failures.items():
                said = {} if failure is None else {"failure": failure[:FAILURE_LENGTH_MAX]}
                self._parts.reservations.let_go(
                    session, lease, retry_in_seconds=pause_seconds, **said
                )

        try:
            self._parts.database.run_in_writer(write)
        except exception.DatabaseUnavailable as error:
            keys = ", ".join(lease.key for lease in failures)
            LOG.warning("%s: leases run out by themselves: %s", keys, error)
