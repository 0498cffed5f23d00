"""A manager is started in order, drained in order, and stopped whatever fails."""

import logging
from collections.abc import Sequence

import pytest
from oslo_config import cfg

from armillary.concurrency.periodic import PeriodicTask
from armillary.conf import base
from armillary.service.managed import ManagedService, Server
from armillary.service.supervisor import Supervisor
from armillary.service.systemd import Notifier
from armillary.service.worker_states import WorkerState, WorkerStates
from tests.fixtures.configuration import parsed_conf


class Recorder:
    """A manager with two servers that note what they are told; one of all these steps may fail."""

    def __init__(self, broken_step: str = "") -> None:
        self.steps: list[str] = []
        self._broken_step = broken_step

    def note(self, step: str) -> None:
        self.steps.append(step)
        if step == self._broken_step:
            raise ZeroDivisionError(step)

    def start(self) -> None:
        self.note("start")

    def servers(self) -> Sequence[Server]:
        return [RecordingServer(self, "a"), RecordingServer(self, "b")]

    def periodic_tasks(self) -> Sequence[PeriodicTask]:
        self.note("tasks")
        return []

    def stop(self, grace_seconds: float) -> None:
        self.note("stop")

    def reload(self) -> None:
        self.note("reload")


class RecordingServer:
    def __init__(self, manager: Recorder, name: str) -> None:
        self._manager = manager
        self._name = name

    def start(self) -> None:
        self._manager.note(f"start {self._name}")

    def stop(self) -> None:
        self._manager.note(f"stop {self._name}")

    def wait(self) -> None:
        self._manager.note(f"wait {self._name}")


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    return parsed_conf(base)


@pytest.fixture
def worker_states() -> WorkerStates:
    return WorkerStates(1)


def service_of(
    manager: Recorder, conf: cfg.ConfigOpts, worker_states: WorkerStates
) -> ManagedService:
    supervisor = Supervisor(worker_states, Notifier(None, None))
    return ManagedService(conf, "test", lambda: manager, supervisor, worker_states.slot(0))


def test_the_manager_starts_before_its_servers(
    conf: cfg.ConfigOpts, worker_states: WorkerStates
) -> None:
    """Tasks come last, and then the worker is ready."""
    manager = Recorder()
    service_of(manager, conf, worker_states).run()
    assert manager.steps == ["start", "start a", "start b", "tasks"]
    assert worker_states.read(0)[0] is WorkerState.READY


def test_all_servers_stop_taking_work_before_any_is_waited_for(
    conf: cfg.ConfigOpts, worker_states: WorkerStates
) -> None:
    """The manager goes last: work under way may need it."""
    manager = Recorder()
    service = service_of(manager, conf, worker_states)
    service.run()
    manager.steps.clear()
    service.drain(5)
    assert manager.steps == ["stop a", "stop b", "wait a", "wait b", "stop"]


@pytest.mark.parametrize("broken_step", ["stop a", "stop b", "wait a", "wait b", "stop"])
def test_a_step_that_fails_keeps_none_from_being_done(
    broken_step: str,
    conf: cfg.ConfigOpts,
    worker_states: WorkerStates,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is logged with its traceback."""
    manager = Recorder(broken_step)
    service = service_of(manager, conf, worker_states)
    service.run()
    manager.steps.clear()
    service.drain(5)
    assert manager.steps == ["stop a", "stop b", "wait a", "wait b", "stop"]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@pytest.mark.parametrize("broken_step", ["start", "start a", "start b", "tasks"])
def test_what_started_is_stopped_after_a_broken_start(
    broken_step: str, conf: cfg.ConfigOpts, worker_states: WorkerStates
) -> None:
    """Servers that never started are not stopped."""
    manager = Recorder(broken_step)
    service = service_of(manager, conf, worker_states)
    with pytest.raises(ZeroDivisionError):
        service.run()
    started = [step[-1] for step in manager.steps if step[:-1] == "start "]
    running = [name for name in started if f"start {name}" != broken_step]
    manager.steps.clear()
    service.drain(5)
    assert manager.steps == [f"stop {n}" for n in running] + [f"wait {n}" for n in running] + [
        "stop"
    ]


def test_draining_twice_is_draining_once(conf: cfg.ConfigOpts, worker_states: WorkerStates) -> None:
    """A launcher may ask again."""
    manager = Recorder()
    service = service_of(manager, conf, worker_states)
    service.run()
    service.drain(5)
    service.drain(5)
    assert manager.steps.count("stop") == 1


def test_a_reload_that_fails_is_logged(
    conf: cfg.ConfigOpts, worker_states: WorkerStates, caplog: pytest.LogCaptureFixture
) -> None:
    """A worker lives on with what it has."""
    manager = Recorder("reload")
    service = service_of(manager, conf, worker_states)
    service.run()
    service.reload()
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert worker_states.read(0)[0] is WorkerState.READY


def test_periodic_tasks_can_be_turned_off(
    conf: cfg.ConfigOpts, worker_states: WorkerStates
) -> None:
    """[DEFAULT] periodic_enable is for debugging."""
    conf.set_override("periodic_enable", False)
    manager = Recorder()
    service_of(manager, conf, worker_states).run()
    assert "tasks" not in manager.steps
