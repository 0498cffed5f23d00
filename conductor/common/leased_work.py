"""The engine of leased work: rows of one table, each processed in steps by one conductor at a time.

A kind of work is a table of named steps, each beside its undo; both may run twice, or not at all.
What a step decides is stored before the next one acts on it. A conductor takes the lease of a row,
runs its steps and ends the row. If a step's outcome is unknown, the lease is released with a
backoff, and recovery takes the row again. If the conductor dies, its lease expires, with the same
result.
"""

from __future__ import annotations

import abc
import dataclasses
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.concurrency import WorkerPool, WorkerPoolFull
from armillary.db import Database
from armillary.metrics import service_metrics
from conductor.common.leases import Lease, LeaseKeeper, Leases

LOG = logging.getLogger(__name__)

R = TypeVar("R")
T = TypeVar("T")
W = TypeVar("W")
TaskT = TypeVar("TaskT", bound="RowTask")

StepHook = Callable[[str], None]
"""Called with the name of each step before it runs; tests inject failures here."""


@dataclasses.dataclass(frozen=True)
class Step(Generic[W, R]):
    """One step of a kind of work and its undo. Either may run twice, or not at all."""

    name: str
    do: Callable[[W], R]
    undo: Callable[[W], None] | None = None


class LeaseLost(Exception):
    """Another conductor holds the lease now: stop and write nothing more."""


def no_hook(_step: str) -> None:
    """Do nothing before a step."""


def run_step(work: W, step: Step[W, R], watch: StepHook = no_hook) -> R:
    """Run one step. An error leaves everything as it is, to be resumed or unwound."""
    watch(step.name)
    return step.do(work)


def run(work: W, steps: Sequence[Step[W, None]], watch: StepHook = no_hook) -> None:
    """Run the steps in order, up to the first that fails."""
    for step in steps:
        run_step(work, step, watch)


def unwind(work: W, steps: Sequence[Step[W, None]]) -> None:
    """Undo all steps in reverse order, whether they ran or not."""
    for step in reversed(steps):
        if step.undo is not None:
            step.undo(work)


@dataclasses.dataclass(frozen=True)
class Release:
    """A lease to release: when its row may be taken again, and values to store with it."""

    lease: Lease
    retry_in_seconds: float = 0.0
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class LeasedWork(abc.ABC):
    """The rows of one table as taken, resumed and released by this conductor."""

    def __init__(self, database: Database, leases: Leases) -> None:
        self._database = database
        self.leases = leases

    @abc.abstractmethod
    def resume(self, keys: Sequence[str]) -> list[Lease]:
        """Take free rows and process them, as many as there is room for; return their leases."""

    def take(self, keys: Iterable[str], **values: Any) -> list[Lease]:
        """Lease those of these rows that are free, and set ``values``."""

        def take_all(session: Session) -> list[Lease]:
            taken = [self.leases.take(session, key, **values) for key in keys]
            return [lease for lease in taken if lease is not None]

        return self._database.run_in_writer(take_all)

    def release(self, released: Sequence[Release]) -> None:
        """Release leases; if the database is unavailable, they expire."""

        def write(session: Session) -> None:
            for each in released:
                self.leases.release(
                    session, each.lease, retry_in_seconds=each.retry_in_seconds, **each.values
                )

        try:
            self._database.run_in_writer(write)
        except exception.DatabaseUnavailable as error:
            keys = ", ".join(each.lease.key for each in released)
            LOG.warning("%s: cannot release leases, they will expire: %s", keys, error)


class RowTask(abc.ABC):
    """One conductor's work on one row, under one lease. Used by one thread."""

    is_waiting = False
    """Whether ``run`` ended because it waits for others: it keeps its lease, to run again soon."""

    def __init__(self, database: Database, lease: Lease) -> None:
        self._database = database
        self.lease = lease

    @abc.abstractmethod
    def run(self) -> None:
        """Run until nothing is left. Raises what prevented that; the lease is still held then."""

    @property
    @abc.abstractmethod
    def retry_in_seconds(self) -> float:
        """Seconds to wait before the next retry, if ``run`` raised."""

    def _read(self, query: Callable[[Session], T]) -> T:
        return self._database.read(query)


class PooledWork(LeasedWork, Generic[TaskT]):
    """Leased work on a pool of workers, a task for each row. Leases are renewed meanwhile."""

    def __init__(self, database: Database, leases: Leases, workers: WorkerPool) -> None:
        super().__init__(database, leases)
        self.keeper = LeaseKeeper(database, leases)
        self._workers = workers

    @abc.abstractmethod
    def _task(self, lease: Lease) -> TaskT:
        """Return the task of a row."""

    @property
    @abc.abstractmethod
    def _values_of_take(self) -> Mapping[str, Any]:
        """Values that count how often a row was taken."""

    def _values_of_failure(self, _error: Exception) -> Mapping[str, Any]:
        """Return what is stored with a row that is retried."""
        return {}

    def resume(self, keys: Sequence[str]) -> list[Lease]:
        resumed: list[Lease] = []
        for key in keys:
            for lease in self.take([key], **self._values_of_take):
                LOG.info("%s: resumed", key)
                if not self.start(lease):
                    return resumed
                resumed.append(lease)
        return resumed

    def start(self, lease: Lease) -> bool:
        """Have a worker process a row; if none is free, release its lease and return False."""
        self.keeper.keep(lease)
        if self._submit(self.work, lease):
            return True
        self._release_lease(lease)
        return False

    def work(self, lease: Lease) -> None:
        """Process a row now; after a failure release it for a retry."""
        self._run(self._task(lease))

    def _run(self, task: TaskT) -> None:
        lease = task.lease
        try:
            task.run()
        except LeaseLost:
            self._note_lost(lease)
        except Exception as error:
            self._put_off({lease: error}, task.retry_in_seconds)
        finally:
            if not task.is_waiting:
                self.keeper.drop(lease)

    def _note_lost(self, lease: Lease) -> None:
        """Record that a lease was lost."""
        service_metrics.LEASES_LOST.add()
        LOG.warning("%s: taken over by another conductor", lease.key)

    def _submit(self, work: Callable[..., None], *args: Any) -> bool:
        try:
            self._workers.submit(work, *args)
        except (WorkerPoolFull, RuntimeError):  # RuntimeError: the process is stopping
            return False
        return True

    def _release_lease(self, lease: Lease) -> None:
        """Release a lease immediately, for any conductor to take."""
        self.keeper.drop(lease)
        self.release([Release(lease)])

    def _put_off(self, failed: Mapping[Lease, Exception], retry_in_seconds: float) -> None:
        for lease, error in failed.items():
            LOG.warning("%s: outcome unknown, will retry: %s", lease.key, error)
            LOG.debug("%s: cause of the retry", lease.key, exc_info=error)
        self.release(
            [
                Release(lease, retry_in_seconds, self._values_of_failure(error))
                for lease, error in failed.items()
            ]
        )


class Recovery:
    """Resumes work whose lease has expired; run as a periodic task by every conductor."""

    def __init__(
        self, conf: cfg.ConfigOpts, *, database: Database, works: Sequence[LeasedWork]
    ) -> None:
        self._conf = conf
        self._database = database
        self._works = works

    def run(self) -> int:
        """Resume one batch of each kind of work, the longest expired first; return their number."""
        limit = self._conf.conductor.recovery_batch_size_max
        with self._database.reader() as session:  # usually there is nothing to write
            free = [work.leases.list_free(session, limit=limit) for work in self._works]
        return sum(self._resume(work, rows) for work, rows in zip(self._works, free, strict=True))

    @staticmethod
    def _resume(work: LeasedWork, rows: Sequence[tuple[str, str | None]]) -> int:
        table = work.leases.table
        service_metrics.IN_RECOVERY.set(len(rows), table)
        if not rows:
            return 0
        resumed = work.resume([key for key, _ in rows])
        service_metrics.TAKEN_UP.add(table, count=len(resumed))
        held = {key for key, holder in rows if holder is not None}
        service_metrics.TAKEN_OVER.add(table, count=sum(lease.key in held for lease in resumed))
        return len(resumed)
