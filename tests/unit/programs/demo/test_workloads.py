"""The demo's real workloads, as the machine sees them."""

import shlex
import subprocess
import uuid
from collections.abc import Callable, Iterator

import pytest

from programs.demo import workloads

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def mark() -> str:
    """Return a mark that no other process has."""
    return f"armillary-test-{uuid.uuid4().hex}"


@pytest.fixture
def start() -> Iterator[Start]:
    """Return a function that runs a command line, perhaps after a shell's ``ulimit``."""
    processes: list[subprocess.Popen[bytes]] = []

    def run(line: str, limits: str = "") -> subprocess.Popen[bytes]:
        command = ["/bin/sh", "-c", f"{limits} exec {line}"] if limits else shlex.split(line)
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE))
        assert processes[-1].stdout is not None
        processes[-1].stdout.readline()  # it has begun
        return processes[-1]

    yield run
    for process in processes:
        assert process.stdout is not None
        process.kill()
        process.wait()
        process.stdout.close()


def test_only_workloads_with_the_mark_are_found(mark: str, start: Start) -> None:
    """Whatever else runs on the machine."""
    mine = start(workloads.command_line(mark))
    start(workloads.command_line(f"{mark}-other"))
    (found,) = workloads.find(mark)
    assert found.pid == mine.pid
    assert shlex.split(found.command) == ["/bin/sh", "-c", workloads.SCRIPT, mark]


def test_a_child_that_is_not_another_command_yet_is_not_counted(mark: str, start: Start) -> None:
    """Between a shell's fork and its child's exec there are two that look alike."""
    script = "(echo begun; while :; do sleep 1; done); true"
    mine = start(shlex.join(["/bin/sh", "-c", script, mark]))
    try:
        assert [found.pid for found in workloads.find(mark)] == [mine.pid]
    finally:
        workloads.kill(mark)


def test_a_memory_limit_is_shown(mark: str, start: Start) -> None:
    """Of the process itself, where no cgroup has one."""
    start(workloads.command_line(mark), "ulimit -d 65536;")
    (found,) = workloads.find(mark)
    assert found.memory_limit.startswith(("64 MiB (rlimit)", "64 MiB (cgroup)"))
    assert " CPU (" in found.cpu_limit


def test_a_process_without_a_limit_has_none(mark: str, start: Start) -> None:
    """Nothing is made up."""
    start(workloads.command_line(mark), "ulimit -d unlimited;")
    (found,) = workloads.find(mark)
    assert found.memory_limit == "none"


def test_those_left_are_killed_and_no_other_process(mark: str, start: Start) -> None:
    """The last resort."""
    start(workloads.command_line(mark))
    other = start(workloads.command_line(f"{mark}-other"))
    workloads.kill(mark)
    assert workloads.find(mark) == []
    assert other.poll() is None
