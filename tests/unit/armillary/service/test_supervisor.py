"""The parent knows where it is, and how often its workers must show themselves."""

import os

import pytest

from armillary.service.supervisor import Supervisor
from armillary.service.systemd import Notifier
from armillary.service.worker_states import WorkerStates


@pytest.mark.parametrize(("watchdog", "expected"), [(None, None), (20.0, 5.0)])
def test_workers_beat_several_times_in_a_watchdogs_time(
    watchdog: float | None, expected: float | None
) -> None:
    """One late heartbeat does not cause a restart; without a watchdog none is checked."""
    assert Supervisor(WorkerStates(1), Notifier("/x", watchdog)).heartbeat_seconds == expected


def test_a_fork_knows_that_it_is_not_the_parent() -> None:
    """The same service object lives in both."""
    supervisor = Supervisor(WorkerStates(1), Notifier(None, None))
    pid = os.fork()
    if pid == 0:
        os._exit(int(supervisor.is_here))
    assert os.waitpid(pid, 0)[1] == 0
    assert supervisor.is_here
