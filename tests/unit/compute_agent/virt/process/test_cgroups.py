"""Control groups: found where they may be made, with the right limits, gone when destroyed.

What is written is checked on files that stand for the kernel's; what the kernel does with it, for
real, where this machine lets us make cgroups.
"""

import contextlib
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from compute_agent.virt.process import cgroups
from compute_agent.virt.process.cgroups import Cgroups
from tests.fixtures.services import leave_out

CONTROLLERS = "cpuset cpu io memory pids"
HOST = "host1"
UUID = str(uuid.uuid4())


class Kernel:
    """A tree of files that behaves, as far as it matters, like cgroups of version 2."""

    def __init__(self, root: Path, own_path: str) -> None:
        self.mount = root / "cgroup"
        self.proc = root / "proc"
        self.proc.mkdir()
        (self.proc / "mountinfo").write_text(
            f"24 30 0:22 / /sys rw,nosuid - sysfs sysfs rw\n"
            f"30 24 0:26 / {self.mount} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
        )
        (self.proc / "cgroup").write_text(f"1:name=systemd:/x\n0::{own_path}\n")
        self.add(self.mount, CONTROLLERS)

    def add(self, path: Path, controllers: str) -> Path:
        path.mkdir(parents=True)
        (path / "cgroup.controllers").write_text(controllers)
        (path / "cgroup.subtree_control").write_text("")
        return path


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    """Return a kernel whose own cgroup is that of a service."""
    return Kernel(tmp_path, "/system.slice/armillary-compute.service/agent")


def test_limits_are_written_in_the_kernel_s_words(tmp_path: Path) -> None:
    """Bytes of memory and swap, microseconds of CPU in a period, one kill for all."""
    path = Cgroups(tmp_path, frozenset({"cpu", "memory", "pids"})).create(
        UUID, memory_mb=512, swap_mb=64, vcpus=3, pids=64
    )
    assert {file.name: file.read_text() for file in path.iterdir()} == {
        "memory.max": str(512 * 2**20),
        "memory.swap.max": str(64 * 2**20),
        "memory.oom.group": "1",
        "cpu.max": "300000 100000",
        "cpu.weight": "300",
        "pids.max": "64",
    }


def test_cpus_and_memory_of_a_place_are_the_kernel_s_to_keep(tmp_path: Path) -> None:
    """Where there is the controller cpuset; else the affinity has to do."""
    place = {"cpus": [2, 3, 8], "cells": [0, 1]}
    path = Cgroups(tmp_path, frozenset({"cpuset"})).create(
        UUID, memory_mb=1, swap_mb=0, vcpus=3, pids=64, **place
    )
    assert {file.name: file.read_text() for file in path.iterdir()} == {
        "cpuset.cpus": "2-3,8",
        "cpuset.mems": "0-1",
    }
    path = Cgroups(tmp_path, frozenset()).create(
        str(uuid.uuid4()), memory_mb=1, swap_mb=0, vcpus=3, pids=64, **place
    )
    assert list(path.iterdir()) == []


def test_without_controllers_a_cgroup_only_holds_together(tmp_path: Path) -> None:
    """No limit is written that is not enforced."""
    found = Cgroups(tmp_path, frozenset())
    assert list(found.create(UUID, memory_mb=1, swap_mb=0, vcpus=1, pids=64).iterdir()) == []
    assert not found.can_limit


def test_without_cgroups_none_are_found(tmp_path: Path) -> None:
    """Only version 1 is mounted, or nothing can be read."""
    assert cgroups.find(None, HOST, tmp_path) is None


def test_a_place_that_does_not_exist_is_none(kernel: Kernel) -> None:
    """The operator named a parent that is not there."""
    assert cgroups.find("no/such/place", HOST, kernel.proc) is None


def test_controllers_are_asked_for_on_the_way_down(kernel: Kernel) -> None:
    """What is there and not yet passed on; nothing else is touched."""
    kernel.add(kernel.mount / "operators", CONTROLLERS)
    kernel.add(kernel.mount / "operators" / "choice", CONTROLLERS)
    kernel.add(kernel.mount / "operators" / "choice" / HOST, CONTROLLERS)
    (kernel.mount / "operators" / "cgroup.subtree_control").write_text("cpu")
    found = cgroups.find("/operators/choice", HOST, kernel.proc)
    assert found is not None
    assert found.parent == kernel.mount / "operators" / "choice" / HOST
    control = kernel.mount / "operators" / "cgroup.subtree_control"
    assert control.read_text() == "+pids"  # the last one asked for


@pytest.mark.parametrize(
    ("at_root", "beside", "expected"),
    [
        ("cpu memory", "cpu memory", "armillary"),
        ("pids", "cpu memory", "system.slice/armillary-compute.service/armillary"),
        ("pids", "pids", "armillary"),
        (None, "cpu memory", "system.slice/armillary-compute.service/armillary"),
    ],
    ids=["root", "delegated", "holds-together", "not-allowed"],
)
def test_the_first_place_with_controllers_wins(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, at_root: str | None, beside: str, expected: str
) -> None:
    """The root's child, else the sibling of our own cgroup, else whatever can be made."""
    service = kernel.add(kernel.mount / "system.slice" / "armillary-compute.service", "")
    for parent, controllers in ((kernel.mount, at_root), (service, beside)):
        if controllers is None:
            continue
        kernel.add(parent / "armillary", "")
        made = kernel.add(parent / "armillary" / HOST, "")
        (made / "cgroup.subtree_control").write_text(controllers)
    if at_root is None:
        monkeypatch.setattr(Path, "mkdir", _refusing(kernel.mount / "armillary", Path.mkdir))
    found = cgroups.find(None, HOST, kernel.proc)
    assert found is not None
    assert found.parent == kernel.mount / expected / HOST


def _refusing(place: Path, mkdir: object) -> object:
    def refuse(path: Path, *args: object, **kwargs: object) -> None:
        if path == place:
            raise PermissionError(13, "Permission denied")
        mkdir(path, *args, **kwargs)  # type: ignore[operator]

    return refuse


# For real -----------------------------------------------------------------------------------------


@pytest.fixture
def real() -> Iterator[Cgroups]:
    """Return cgroups of this machine, below one that is removed afterwards."""
    name = f"armillary-test-{uuid.uuid4().hex[:8]}"
    found = cgroups.find(name, HOST)
    if found is None:
        leave_out("A cgroup of version 2", "this machine lets us make none")
    yield found
    with contextlib.suppress(OSError):
        found.parent.rmdir()
        found.parent.parent.rmdir()


def is_memory_in_version_1() -> bool:
    """Return whether the memory controller is mounted where version 2 cannot have it, too."""
    rows = [line.split() for line in Path("/proc/cgroups").read_text().splitlines()]
    return any(name == "memory" and hierarchy != "0" for name, hierarchy, *_rest in rows)


def join(path: Path) -> None:
    (path / "cgroup.procs").write_text("0")


def test_all_processes_of_a_cgroup_end_with_it(real: Cgroups) -> None:
    """Also one that has left session and parent."""
    path = real.create(UUID, memory_mb=64, swap_mb=0, vcpus=1, pids=64)
    shell = "setsid sleep 300 & exec sleep 300"
    with subprocess.Popen(["sh", "-c", shell], preexec_fn=lambda: join(path)) as process:
        while len((path / "cgroup.procs").read_text().split()) < 2:
            assert process.poll() is None
        pids = (path / "cgroup.procs").read_text().split()
        real.destroy(UUID)
    assert not path.exists()
    assert [pid for pid in pids if Path(f"/proc/{pid}/exe").exists()] == []


def test_destroying_what_is_not_there_is_fine(real: Cgroups) -> None:
    """A second time, or a workload that never had one."""
    real.destroy(UUID)


def test_a_cgroup_may_be_made_twice(real: Cgroups) -> None:
    """After a crash in the middle of a build."""
    for vcpus in (1, 2):
        real.create(UUID, memory_mb=64, swap_mb=0, vcpus=vcpus, pids=64)
    real.destroy(UUID)


def test_more_memory_than_allowed_kills_the_workload(real: Cgroups) -> None:
    """All of its processes together count."""
    if not real.can_limit:
        if is_memory_in_version_1():
            pytest.skip("this machine limits memory by cgroups of version 1")
        leave_out("The memory controller", "this machine's cgroups of version 2 do not have it")
    path = real.create(UUID, memory_mb=32, swap_mb=0, vcpus=1, pids=64)
    greedy = "x = bytearray(200 * 2**20)"
    with subprocess.Popen(["python3", "-c", greedy], preexec_fn=lambda: join(path)) as process:
        assert process.wait(60) == -9
    real.destroy(UUID)
