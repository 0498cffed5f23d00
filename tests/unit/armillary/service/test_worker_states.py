"""Worker states: written by a worker, read by its parent, whatever becomes of the worker."""

import os
import time

import pytest

from armillary.service.worker_states import WorkerState, WorkerStates


@pytest.fixture
def worker_states() -> WorkerStates:
    return WorkerStates(2)


def in_a_fork(work: object) -> None:
    pid = os.fork()
    if pid == 0:
        work()  # type: ignore[operator]
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def test_a_worker_in_another_process_is_heard(worker_states: WorkerStates) -> None:
    """The memory is shared by forks."""
    in_a_fork(worker_states.slot(1).ready)
    assert worker_states.read(1)[0] is WorkerState.READY
    assert worker_states.was_ever_ready
    assert not worker_states.are_all_ready


def test_all_are_ready_when_each_is(worker_states: WorkerStates) -> None:
    """Workers do not write in each other's place."""
    worker_states.slot(0).ready()
    worker_states.slot(1).ready()
    assert worker_states.are_all_ready


def test_a_worker_that_replaces_another_starts_again(worker_states: WorkerStates) -> None:
    """Its place says so, and the service was ready all the same."""
    worker_states.slot(0).ready()
    worker_states.slot(0).starting()
    assert (worker_states.read(0)[0], worker_states.was_ever_ready) == (WorkerState.STARTING, True)


def test_one_worker_reports_a_broken_start(worker_states: WorkerStates) -> None:
    """The first in any process; its code counts."""
    in_a_fork(lambda: worker_states.report_failed_start(78))
    assert not worker_states.report_failed_start(1)
    assert worker_states.failed_start_code == 78


def test_reloading_waits_for_the_workers_that_are_ready(worker_states: WorkerStates) -> None:
    """One that starts reads the new configuration anyway."""
    worker_states.slot(0).ready()
    worker_states.mark_reloading()
    assert [worker_states.read(i)[0] for i in (0, 1)] == [
        WorkerState.RELOADING,
        WorkerState.STARTING,
    ]


def test_a_silent_worker_is_told_by_its_last_heartbeat(worker_states: WorkerStates) -> None:
    """A worker that still starts is not silent: it may wait for its database."""
    worker_states.write(0, WorkerState.READY, time.monotonic() - 10)
    assert worker_states.silent_workers(5) == [0]
    worker_states.slot(0).heartbeat()
    assert worker_states.silent_workers(5) == []
