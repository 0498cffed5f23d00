"""Several managers in one process: in order, in reverse, with one set of signals."""

import os
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from oslo_config import cfg

from armillary.concurrency.periodic import PeriodicTask
from armillary.conf import loader
from armillary.service import Server, ServiceGroup
from tests.fixtures.programs.python_programs import Program, StartProgram
from tests.unit.armillary.service.programs import Systemd, pids

SECONDS_MAX = 60
ANSWER_SECONDS = 0.2


@pytest.fixture
def run(launch: StartProgram) -> StartProgram:
    """Return a function that starts the sample service's two managers in one process."""
    return lambda **environment: launch(MODE="in-process", **environment)


def steps(program: Program) -> list[str]:
    words = ("started", "stopped", "all-ready")
    return [line.rpartition(" ")[0] for line in program.lines if line.startswith(words)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_managers_start_in_order_and_stop_in_reverse(
    number: signal.Signals, run: StartProgram
) -> None:
    """All in the process that was started, and Ctrl-C drains, too."""
    program = run()
    program.wait_for("all-ready")
    program.signal(number)
    assert program.wait_for_end() == 0
    expected = ["started one", "started two", "all-ready", "stopped two", "stopped one"]
    assert steps(program) == expected
    assert set(pids(program, "server-started")) == {program.process.pid}


def test_sighup_reloads_every_manager(run: StartProgram, options: Path) -> None:
    """The file is read once."""
    program = run()
    program.wait_for("all-ready")
    options.write_text("[DEFAULT]\nservice_down_time = 77\n")
    program.signal(signal.SIGHUP)
    program.wait_for("reloaded 77", 2)


def test_sighup_with_a_broken_file_changes_nothing(run: StartProgram, options: Path) -> None:
    """No manager is bothered."""
    program = run()
    program.wait_for("all-ready")
    options.write_text("[DEFAULT]\nservice_down_time = x\n")
    program.signal(signal.SIGHUP)
    program.wait_for("Configuration not reloaded")
    program.signal(signal.SIGTERM)
    assert program.wait_for_end() == 0
    assert "reloaded" not in program.output.replace("not reloaded", "")


def test_a_broken_start_stops_what_runs_and_says_one_line(run: StartProgram) -> None:
    """The first manager is stopped when the second cannot start."""
    program = run(HOW="broken-two")
    assert program.wait_for_end() == 1
    assert steps(program) == ["started one", "stopped two", "stopped one"]
    complaints = [line for line in program.lines if "CRITICAL" in line or "ERROR" in line]
    assert len(complaints) == 1
    assert complaints[0].endswith("armillary-test cannot start: the port is taken")


def test_a_mistake_in_the_configuration_has_its_exit_code(run: StartProgram) -> None:
    """The same as with worker processes."""
    assert run(HOW="bad-configuration").wait_for_end() == os.EX_CONFIG


def test_sigterm_ends_a_start_that_waits(run: StartProgram) -> None:
    """Signals are heard while the managers start."""
    program = run(HOW="waiting")
    program.wait_for("waiting")
    program.signal(signal.SIGTERM)
    assert program.wait_for_end() == 0


def test_a_second_sigint_ends_a_drain_immediately(run: StartProgram) -> None:
    """A user who presses Ctrl-C twice means it."""
    program = run(HOW="hanging")
    program.wait_for("all-ready")
    program.signal(signal.SIGINT)
    program.wait_for("server-stopped")
    program.signal(signal.SIGINT)
    assert program.wait_for_end() == 1


def test_a_drain_has_an_end(run: StartProgram, options: Path) -> None:
    """It is graceful_shutdown_timeout."""
    options.write_text("[DEFAULT]\ngraceful_shutdown_timeout = 1\n")
    program = run(HOW="hanging")
    program.wait_for("all-ready")
    program.signal(signal.SIGTERM)
    assert program.wait_for_end() == 1


def test_systemd_hears_the_same_as_of_a_launched_service(
    run: StartProgram, systemd: Systemd
) -> None:
    """READY when all managers serve, RELOADING, READY again, pings, STOPPING."""
    program = run(NOTIFY_SOCKET=str(systemd.path), WATCHDOG_USEC="400000")
    systemd.wait_for("READY=1")
    systemd.wait_for("WATCHDOG=1")
    systemd.heard.clear()
    program.signal(signal.SIGHUP)
    systemd.wait_for("RELOADING=1")
    systemd.wait_for("READY=1")
    program.signal(signal.SIGTERM)
    systemd.wait_for("STOPPING=1")
    assert program.wait_for_end() == 0


class NotingManager:
    def __init__(self, name: str, notes: list[str], tasks: Sequence[PeriodicTask] = ()) -> None:
        self._name = name
        self._notes = notes
        self._tasks = tasks

    def start(self) -> None:
        self._notes.append(f"{self._name} started")

    def servers(self) -> Sequence[Server]:
        return []

    def periodic_tasks(self) -> Sequence[PeriodicTask]:
        return self._tasks

    def stop(self, grace_seconds: float) -> None:
        self._notes.append(f"{self._name} stopped")

    def reload(self) -> None:
        self._notes.append(f"{self._name} reloaded")


@pytest.mark.usefixtures("keep_logging")
def test_a_group_runs_in_a_test_without_signals() -> None:
    """Functional tests start and stop the whole system this way."""
    conf = cfg.ConfigOpts()
    loader.load(conf, [], "armillary-test")
    notes: list[str] = []

    def factory(name: str) -> Callable[[], NotingManager]:
        return lambda: NotingManager(name, notes)

    group = ServiceGroup(conf, [("a", factory("a")), ("b", factory("b"))])
    group.start()
    group.stop(5)
    assert notes == ["a started", "b started", "b stopped", "a stopped"]


class Answers:
    """A server that a task of another service here calls: it answers until it is stopped."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self._is_stopping = threading.Event()

    def start(self) -> None:
        pass

    def stop(self) -> None:
        self._is_stopping.set()

    def wait(self) -> None:
        pass

    def call(self) -> bool:
        """Return whether there was an answer; one takes a moment."""
        self.asked.set()
        return not self._is_stopping.wait(ANSWER_SECONDS)


@pytest.mark.usefixtures("keep_logging")
def test_a_periodic_task_under_way_finds_the_servers_of_the_others() -> None:
    """Else it would wait for an answer that does not come, and the end for it."""
    conf = cfg.ConfigOpts()
    loader.load(conf, [], "armillary-test")
    answers = Answers()
    answered: list[bool] = []
    asking = PeriodicTask(
        "ask", 60.0, lambda: answered.append(answers.call()), initial_delay_seconds=0.0
    )

    class Asked(NotingManager):
        def servers(self) -> Sequence[Server]:
            return [answers]

    group = ServiceGroup(
        conf,
        [
            ("asking", lambda: NotingManager("asking", [], [asking])),
            ("asked", lambda: Asked("asked", [])),
        ],
    )
    group.start()
    assert answers.asked.wait(SECONDS_MAX)
    group.stop(SECONDS_MAX)
    assert answered == [True]
