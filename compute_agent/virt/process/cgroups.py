"""cgroups v2: one per workload, with the CPU and memory limits of its flavor.

A workload beyond its memory limit is killed as a whole (OOM kill), not only its largest process.
There is no second, higher limit (``memory_max``): a workload does not oversubscribe memory.
"""

import contextlib
import errno
import logging
import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from compute_agent.virt.instance_directories import InstanceDirectories
from objects.numa import format_cpus

LOG = logging.getLogger(__name__)

PARENT_NAME = "armillary"
LIMITING = frozenset({"cpu", "memory"})
USED = LIMITING | {"cpuset", "pids"}
"""Controllers to enable if available; cpuset and pids are optional."""
CPU_PERIOD_US = 100_000
CPU_WEIGHT_PER_VCPU = 100
CPU_WEIGHT_MAX = 10_000
EMPTY_SECONDS_MAX = 5.0
TICK_SECONDS = 0.02
MIB = 1024**2


class Cgroups:
    """The parent cgroup and those of the workloads below it, named after their instances.

    ``controllers`` are those enabled below the parent. Without ``memory`` and ``cpu``, a cgroup
    still groups a workload's processes, so that all of them can be killed.

    The parent is this host's alone: an instance that moves between two agents of one machine has a
    cgroup of each.
    """

    def __init__(self, parent: Path, controllers: frozenset[str]) -> None:
        self._directories = InstanceDirectories(parent)
        self.controllers = controllers

    @property
    def parent(self) -> Path:
        return self._directories.parent

    @property
    def can_limit(self) -> bool:
        """Whether memory and CPU limits are available."""
        return self.controllers >= LIMITING

    def create(
        self,
        uuid: str,
        *,
        memory_mb: int,
        swap_mb: int,
        vcpus: int,
        pids: int,
        cpus: Iterable[int] | None = None,
        cells: Iterable[int] | None = None,
    ) -> Path:
        """Create a cgroup with these limits, or update them; return its path. Raises OSError.

        ``pids`` is the maximum of processes and threads. ``cpus`` and ``cells``, the NUMA nodes
        for its memory, apply if cpuset is available.
        """
        path = self._directories.of(uuid)
        path.mkdir(exist_ok=True)
        if "memory" in self.controllers:
            _write(path / "memory.max", str(memory_mb * MIB))
            _write(path / "memory.oom.group", "1")
            with contextlib.suppress(FileNotFoundError):  # kernel without swap accounting
                _write(path / "memory.swap.max", str(swap_mb * MIB))
        if "cpu" in self.controllers:
            _write(path / "cpu.max", f"{vcpus * CPU_PERIOD_US} {CPU_PERIOD_US}")
            weight = min(vcpus * CPU_WEIGHT_PER_VCPU, CPU_WEIGHT_MAX)  # share under contention
            _write(path / "cpu.weight", str(weight))
        if "pids" in self.controllers:
            _write(path / "pids.max", str(pids))
        if "cpuset" in self.controllers and cpus is not None:
            _write(path / "cpuset.cpus", format_cpus(cpus))
            if cells is not None:
                _write(path / "cpuset.mems", format_cpus(cells))
        return path

    def kill(self, uuid: str) -> None:
        """Kill the processes of a workload's cgroup and keep it; a missing one is ignored."""
        self._kill(self._directories.of(uuid))

    def destroy(self, uuid: str) -> None:
        """Kill the processes of a workload's cgroup and remove it; a missing one is ignored.

        Raises TimeoutError if the processes do not end.
        """
        path = self._directories.of(uuid)
        deadline = time.monotonic() + EMPTY_SECONDS_MAX
        while path.exists():
            self._kill(path)
            try:
                path.rmdir()
            except FileNotFoundError:
                return
            except OSError as error:
                if error.errno not in (errno.EBUSY, errno.ENOTEMPTY):
                    raise
            if time.monotonic() >= deadline:
                raise TimeoutError(f"the processes in {path} do not end")
            time.sleep(TICK_SECONDS)

    def _kill(self, path: Path) -> None:
        with contextlib.suppress(OSError):
            if (path / "cgroup.kill").exists():
                _write(path / "cgroup.kill", "1")
                return
            for pid in (path / "cgroup.procs").read_text(encoding="ascii").split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)


def find(configured: str | None, host: str, proc: Path = Path("/proc/self")) -> Cgroups | None:
    """Return the best location for cgroups of a host that this process may use, or None.

    ``configured`` is a path below the mount point. Otherwise the root and the parent of our own
    cgroup are tried. A location with the required controllers is preferred to one without.
    """
    mount = _mount_point(proc)
    if mount is None:
        return None
    best = None
    for place in _places(mount, configured, proc):
        found = _prepare(place, host)
        if found is not None and found.can_limit:
            return found
        best = best or found
    return best


def _places(mount: Path, configured: str | None, proc: Path) -> Iterator[Path]:
    if configured is not None:
        yield mount / configured.strip("/")
        return
    yield mount / PARENT_NAME
    own = _own_path(proc)
    if own not in (None, "/"):
        yield (mount / str(own).strip("/")).parent / PARENT_NAME


def _prepare(shared: Path, host: str) -> Cgroups | None:
    """Create a host's cgroup and enable the controllers below it; None if not permitted."""
    parent = shared / host
    missing = [each for each in (parent, shared) if not each.exists()]
    try:
        _enable(shared.parent)
        for path in (shared, parent):
            path.mkdir(exist_ok=True)
            _enable(path)
        trial = parent / f"trial-{os.getpid()}"
        trial.mkdir()
        trial.rmdir()
        controllers = (parent / "cgroup.subtree_control").read_text(encoding="ascii").split()
    except OSError as error:
        LOG.debug("No cgroups in %s: %s", parent, error)
        with contextlib.suppress(OSError):
            for path in missing:
                path.rmdir()
        return None
    return Cgroups(parent, frozenset(controllers))


def _enable(path: Path) -> None:
    """Enable each available controller for the children, as far as permitted."""
    have = (path / "cgroup.controllers").read_text(encoding="ascii").split()
    active = (path / "cgroup.subtree_control").read_text(encoding="ascii").split()
    for controller in sorted((USED & set(have)) - set(active)):
        with contextlib.suppress(OSError):
            _write(path / "cgroup.subtree_control", f"+{controller}")


def _mount_point(proc: Path) -> Path | None:
    with contextlib.suppress(OSError):
        for line in (proc / "mountinfo").read_text(encoding="utf-8").splitlines():
            before, _, after = line.partition(" - ")
            if after.split(" ", 1)[0] == "cgroup2":
                return Path(before.split(" ")[4])
    return None


def _own_path(proc: Path) -> str | None:
    with contextlib.suppress(OSError):
        for line in (proc / "cgroup").read_text(encoding="utf-8").splitlines():
            if line.startswith("0::"):
                return line[3:]
    return None


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="ascii")
