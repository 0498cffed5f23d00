"""One workload's directory: states that only a crash makes, and the time that starting may take."""

import os
import signal
from pathlib import Path

import pytest

import compute_agent
from armillary import exception
from compute_agent.virt.process import process_guest
from compute_agent.virt.process.process_guest import ProcessGuest, ProcessStatus
from compute_agent.virt.process.shim import supervisor
from compute_agent.virt.process.shim.spec import ProcessSpec
from tests.fixtures.agent.processes import Processes
from tests.fixtures.asking import wait_for


def a_spec(*argv: str) -> ProcessSpec:
    """Return a command without limits."""
    return ProcessSpec(
        argv=list(argv), environment={}, cgroup=None, rlimits={}, cpus=None, user=None,
        stop_grace_seconds=0.1, console_max_bytes=4096,
    )  # fmt: skip


@pytest.fixture
def guest(tmp_path: Path) -> ProcessGuest:
    """Return a guest of which nothing is there yet."""
    return ProcessGuest(tmp_path / "a-guest", "host1")


def test_what_is_not_there_has_no_status(guest: ProcessGuest) -> None:
    """And can be stopped and removed all the same."""
    assert (guest.exists, guest.status(), guest.spec()) == (False, None, None)
    guest.stop()
    guest.remove()


def test_what_was_only_prepared_has_no_status(guest: ProcessGuest) -> None:
    """A crash before anything ran. Its environment can be read by no other account."""
    umask = os.umask(0)
    try:
        guest.prepare(a_spec("true"))
    finally:
        os.umask(umask)
    assert guest.status() is None
    assert (guest.home.parent / "guest.json").stat().st_mode & 0o777 == 0o600
    guest.remove()
    assert not guest.exists


def test_a_command_that_could_not_be_run_leaves_no_status(guest: ProcessGuest) -> None:
    """A crash before that was told: it is tried again, and told then."""
    guest.prepare(a_spec("/no/such/command"))
    with pytest.raises(exception.BuildAborted, match="/no/such/command"):
        guest.start(10.0)
    guest.stop()
    assert guest.status() is None


def test_a_limit_that_cannot_be_set_is_the_host_s_fault(
    guest: ProcessGuest, tmp_path: Path
) -> None:
    """Another host may do better; the reason says what could not be set up."""
    guest.prepare(a_spec("true")._replace(cgroup=str(tmp_path / "nowhere")))
    with pytest.raises(exception.BuildFailed, match="setting up its cgroup failed"):
        guest.start(10.0)


def test_a_shim_that_dies_at_birth_fails_the_build(
    guest: ProcessGuest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not waited for until the time is over."""
    shim = tmp_path / "shim.py"
    shim.write_text("raise SystemExit(1)")
    monkeypatch.setattr(process_guest, "SHIM", shim)
    guest.prepare(a_spec("true"))
    with pytest.raises(exception.BuildFailed, match="ended before it started"):
        guest.start(60.0)


def test_a_start_has_its_time(
    guest: ProcessGuest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shim that hangs is given up, and stopped with the rest."""
    shim = tmp_path / "shim.py"
    shim.write_text(
        "import json, os, sys, time\n"
        f"sys.path.append({str(Path(compute_agent.__file__).parent.parent)!r})\n"
        "from pathlib import Path\n"
        "from compute_agent.virt.process.shim.json_files import write_json\n"
        "from compute_agent.virt.process.shim.process_stats import boot_id, read_stat\n"
        "if os.fork(): os._exit(0)\n"
        "me = {'pid': os.getpid(), 'start': read_stat(os.getpid()).start}\n"
        "note = {'boot_id': boot_id(), 'shim': me, 'workload': {'pid': 2**22, 'start': 0}}\n"
        "write_json(Path(sys.argv[1], 'processes.json'), note)\n"
        "time.sleep(300)\n"
    )
    monkeypatch.setattr(process_guest, "SHIM", shim)
    guest.prepare(a_spec("true"))
    with pytest.raises(exception.BuildFailed, match=r"not started within 0\.3 s"):
        guest.start(0.3)
    assert guest.status() == ProcessStatus(is_running=True)
    guest.stop()
    assert guest.status() == ProcessStatus(is_running=False)


def test_a_shim_that_does_not_listen_is_killed(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so is what it watched over."""
    monkeypatch.setattr(supervisor, "KILL_SECONDS_MAX", 0.5)
    processes.set_options(stop_grace_seconds=0.0)
    instance = processes.spawn("sh -c 'setsid sleep 300 & exec sleep 300'")
    wait_for(lambda: len(processes.of(instance)) == 2, "both run", 10, 0.02)
    os.kill(processes.pids(instance)["shim"], signal.SIGSTOP)
    processes.driver.destroy(instance.uuid)
    assert processes.of(instance) == []


@pytest.mark.parametrize(
    ("older", "newer", "expected"),
    [
        (None, None, ""),
        (None, "", ""),
        (None, "one\ntwo\n\n", "two"),
        ("one\ntwo\n", "", "two"),
        (None, "\x1b[31mred\x07\n", "[31mred"),
        (None, "x" * 10_000, "x" * 200),
        (None, b"\xff\xfe\n", "\ufffd\ufffd"),
    ],
    ids=["none", "empty", "lines", "older", "control", "long", "bytes"],
)
def test_the_last_line_is_safe_to_show(
    guest: ProcessGuest, older: str | None, newer: str | bytes | None, expected: str
) -> None:
    """Printable, short, from whichever file has one."""
    guest.prepare(a_spec("true"))
    for name, content in (("console.log.1", older), ("console.log", newer)):
        if content is not None:
            data = content.encode() if isinstance(content, str) else content
            (guest.home.parent / name).write_bytes(data)
    assert guest.last_line() == expected


def test_a_directory_disappears_immediately(guest: ProcessGuest) -> None:
    """No reader sees it half removed."""
    guest.prepare(a_spec("true"))
    (guest.home / "file").write_text("x")
    guest.remove()
    assert list(guest.home.parent.parent.iterdir()) == []
