"""Worker processes: started, drained, reloaded, replaced, and watched, on both backends."""

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.fixtures import waiting
from tests.fixtures.asking import wait_for
from tests.fixtures.programs.python_programs import WAIT_SECONDS_MAX, StartProgram
from tests.unit.armillary.service.programs import Systemd, pids, wait_until_ready


def test_each_worker_is_a_process_with_a_manager(launch: StartProgram) -> None:
    """None of them is the parent, so nothing a factory made is shared."""
    program = launch()
    wait_until_ready(program)
    assert len({*pids(program, "started"), *pids(program, "parent")}) == 3


def test_sigterm_drains_the_workers(launch: StartProgram) -> None:
    """No new work, then the work under way, then the manager; exit code 0."""
    program = launch(WORKERS="1")
    wait_until_ready(program, 1)
    program.signal(signal.SIGTERM)
    assert program.wait_for_end() == 0
    steps = [line.split()[0] for line in program.lines if line.startswith(("server-", "stopped"))]
    assert steps == ["server-started", "server-stopped", "server-drained", "stopped"]


def test_a_drain_has_an_end(launch: StartProgram, options: Path) -> None:
    """Work that never ends is left after graceful_shutdown_timeout."""
    options.write_text("[DEFAULT]\ngraceful_shutdown_timeout = 1\n")
    program = launch(HOW="hanging", WORKERS="1")
    wait_until_ready(program, 1)
    (worker,) = pids(program, "started")
    program.signal(signal.SIGTERM)
    program.wait_for_end()
    psutil.wait_procs(
        [psutil.Process(worker)] if psutil.pid_exists(worker) else [], timeout=waiting.seconds(20)
    )
    assert not psutil.pid_exists(worker)


def test_sigterm_ends_a_service_that_still_starts(launch: StartProgram) -> None:
    """A service that waits for its database can be stopped."""
    program = launch(HOW="waiting")
    program.wait_for("waiting", 2)
    program.signal(signal.SIGTERM)
    assert program.wait_for_end() == 0


def test_a_worker_that_dies_is_replaced(launch: StartProgram) -> None:
    """kill -9 is the normal case."""
    program = launch()
    wait_until_ready(program)
    victim = pids(program, "started")[0]
    program.signal(signal.SIGKILL, victim)
    wait_until_ready(program, 3)
    assert pids(program, "started")[2] != victim


def test_workers_do_not_outlive_their_parent(launch: StartProgram) -> None:
    """After kill -9 of the parent they drain and go."""
    program = launch()
    wait_until_ready(program)
    workers = [psutil.Process(pid) for pid in pids(program, "started")]
    program.signal(signal.SIGKILL)
    _gone, alive = psutil.wait_procs(workers, timeout=WAIT_SECONDS_MAX)
    assert alive == []


def test_sighup_reloads_without_a_restart(launch: StartProgram, options: Path) -> None:
    """Each worker sees the new value of a mutable option; no process is replaced."""
    program = launch()
    wait_until_ready(program)
    options.write_text("[DEFAULT]\nservice_down_time = 77\n")
    program.signal(signal.SIGHUP)
    program.wait_for("reloaded 77", 2)
    assert set(pids(program, "reloaded 77")) == set(pids(program, "started"))


def test_sighup_with_a_broken_file_changes_nothing(launch: StartProgram, options: Path) -> None:
    """Parent and workers live on with the old values, and reload when the file is whole again."""
    program = launch()
    wait_until_ready(program)
    options.write_text("[DEFAULT]\nservice_down_time = x\n")
    program.signal(signal.SIGHUP)
    program.wait_for("Configuration not reloaded", 3)
    program.wait_for("reloaded 61", 2)
    options.write_text("[DEFAULT]\nservice_down_time = 78\n")
    program.signal(signal.SIGHUP)
    program.wait_for("reloaded 78", 2)


def test_sigusr2_writes_a_report_without_passwords(launch: StartProgram, options: Path) -> None:
    """From a worker and from the parent; both live on."""
    options.write_text("[api_database]\nconnection = postgresql://me:geheim@h/x\n")
    program = launch(WORKERS="1")
    wait_until_ready(program, 1)
    (worker,) = pids(program, "started")
    for count, pid in enumerate((worker, program.process.pid), start=1):
        program.signal(signal.SIGUSR2, pid)
        program.wait_for("Configuration", count)
        program.wait_for("connection = ***", 4 * count)
    program.signal(signal.SIGTERM)
    assert program.wait_for_end() == 0
    assert "Guru Meditation" in program.output
    assert "geheim" not in program.output


def test_reports_go_to_the_directory_configured(
    launch: StartProgram, options: Path, tmp_path: Path
) -> None:
    """One file a process."""
    folder = tmp_path / "reports"
    folder.mkdir()
    options.write_text(f"[oslo_reports]\nlog_dir = {folder}\n")
    program = launch()
    wait_until_ready(program)
    workers = pids(program, "started")
    for pid in workers:
        program.signal(signal.SIGUSR2, pid)
    wait_for(lambda: len(list(folder.iterdir())) >= 2, "two reports", WAIT_SECONDS_MAX)
    names = {path.name.split("_")[0] for path in folder.iterdir()}
    assert names == {f"armillary-test-{pid}" for pid in workers}


def test_a_file_that_is_touched_asks_each_worker_for_a_report(
    launch: StartProgram, options: Path, tmp_path: Path
) -> None:
    """For places where no signal can be sent."""
    trigger = tmp_path / "trigger"
    trigger.touch()
    options.write_text(f"[oslo_reports]\nfile_event_handler = {trigger}\n")
    program = launch()
    wait_until_ready(program)
    os.utime(trigger, (time.time() + 60, time.time() + 60))
    program.wait_for("Guru Meditation", 2)


@pytest.mark.parametrize(
    ("how", "code", "line"),
    [
        (
            "bad-configuration",
            os.EX_CONFIG,
            "armillary-test cannot start: [x] y names z; allowed: a",
        ),
        ("broken", 1, "armillary-test cannot start: the port is taken"),
    ],
)
def test_a_broken_start_ends_the_service_with_one_line(
    how: str, code: int, line: str, launch: StartProgram
) -> None:
    """However many workers; the exit code tells systemd whether to try again."""
    program = launch(HOW=how, WORKERS="3")
    assert program.wait_for_end() == code
    complaints = [text for text in program.lines if "CRITICAL" in text or "ERROR" in text]
    assert len(complaints) == 1
    assert "Traceback" not in program.output
    assert complaints[0].endswith(line)


@pytest.mark.parametrize(("how", "code"), [("broken", 1), ("bad-configuration", os.EX_CONFIG)])
def test_a_broken_start_ends_the_service_although_a_worker_misses_the_signal(
    how: str, code: int, launch: StartProgram
) -> None:
    """A worker on a busy machine, which the signal reached before it could handle any."""
    assert launch(HOW=how, MISSED="yes").wait_for_end() == code


def test_sigterm_ends_a_worker_that_misses_the_signal(launch: StartProgram) -> None:
    """It ends as soon as it has started, long before the service gives up on it."""
    program = launch(MISSED="yes")
    program.wait_for("started", 1)
    program.wait_for("waits-for-signal", 1)
    program.signal(signal.SIGTERM)
    assert program.wait_for_end() == 0
    assert len(pids(program, "stopped it")) == 2, program.output


def test_a_worker_that_cannot_be_replaced_immediately_is_tried_again(
    launch: StartProgram, tmp_path: Path
) -> None:
    """A worker that was ready before is restarted: the service goes on."""
    mark = tmp_path / "mark"
    program = launch(HOW="later", MARK=str(mark))
    wait_until_ready(program)
    mark.touch()
    program.signal(signal.SIGKILL, pids(program, "started")[0])
    program.wait_for("failing-later")
    mark.unlink()
    wait_until_ready(program, 3)


def test_systemd_hears_ready_reloading_and_stopping(
    launch: StartProgram, systemd: Systemd, options: Path
) -> None:
    """READY comes when the workers serve, not when the parent runs."""
    program = launch(NOTIFY_SOCKET=str(systemd.path))
    systemd.wait_for("READY=1")
    assert len(pids(program, "server-started")) == 2
    systemd.heard.clear()
    program.signal(signal.SIGHUP)
    systemd.wait_for("RELOADING=1\nMONOTONIC_USEC=")
    systemd.wait_for("READY=1")
    program.signal(signal.SIGTERM)
    systemd.wait_for("STOPPING=1")
    assert program.wait_for_end() == 0


def test_systemd_is_asked_for_time_while_a_service_waits(
    launch: StartProgram, systemd: Systemd
) -> None:
    """A missing database must not make systemd kill what waits for it."""
    launch(HOW="waiting", NOTIFY_SOCKET=str(systemd.path))
    systemd.wait_for("EXTEND_TIMEOUT_USEC=60000000")
    assert not any("READY=1" in message for message in systemd.heard)


def test_the_watchdog_is_fed_while_the_service_is_well(
    launch: StartProgram, systemd: Systemd
) -> None:
    """Pings come again and again."""
    launch(NOTIFY_SOCKET=str(systemd.path), WATCHDOG_USEC="400000")
    systemd.wait_for("READY=1")
    for _ in range(4):
        systemd.heard.clear()
        systemd.wait_for("WATCHDOG=1")


def test_the_watchdog_starves_when_a_manager_is_unwell(
    launch: StartProgram, systemd: Systemd
) -> None:
    """Then systemd restarts the service; the log says which worker is silent."""
    program = launch(HOW="unhealthy", NOTIFY_SOCKET=str(systemd.path), WATCHDOG_USEC="400000")
    program.wait_for("No heartbeat from worker(s)")
    while not systemd.is_silent_for(1.0):
        pass


def test_the_watchdog_starves_when_a_worker_hangs(launch: StartProgram, systemd: Systemd) -> None:
    """A stopped process shows no sign of life, however well the others are."""
    program = launch(NOTIFY_SOCKET=str(systemd.path), WATCHDOG_USEC="400000")
    systemd.wait_for("READY=1")
    wait_until_ready(program)
    program.signal(signal.SIGSTOP, pids(program, "started")[1])
    program.wait_for("No heartbeat from worker(s) [")
    while not systemd.is_silent_for(1.0):
        pass
