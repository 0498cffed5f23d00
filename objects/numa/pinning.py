"""CPU pinning: selection of dedicated CPUs of a host cell for vCPUs, by thread policy.

- ``prefer``: any free CPUs, threads of one core together if possible;
- ``require``: only threads of cores that have several of them free;
- ``isolate``: each on a core of its own, whose other threads stay idle.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from objects.numa.host import HostCell
from objects.numa.instance import ISOLATE, REQUIRE

_Core = frozenset[int]


@dataclass(frozen=True, slots=True)
class Pinned:
    """CPUs of the vCPUs, in order, and of the emulator threads."""

    cpus: tuple[int, ...]
    emulator_cpus: frozenset[int]


def pin(cell: HostCell, vcpus: int, emulator: int, policy: str | None) -> Pinned | None:
    """Return CPUs for the vCPUs and isolated emulator threads, or None if too few are free.

    Each CPU has at most one user; emulator threads and vCPUs do not share CPUs.
    """
    if policy == ISOLATE:
        return _pin_isolated(cell, vcpus, emulator)
    cores = cell.free_cores
    usable = [core for core in cores if len(core) > 1] if policy == REQUIRE else list(cores)
    chosen = _take_together(usable, vcpus)
    if chosen is None:
        return None
    taken = frozenset(chosen)
    left = _take_scattered([core - taken for core in cores], emulator)
    return None if left is None else Pinned(tuple(chosen), frozenset(left))


def with_idle_siblings(cell: HostCell, cpus: Iterable[int]) -> frozenset[int]:
    """Return these CPUs and their dedicated sibling threads, which ``isolate`` keeps idle."""
    wanted = frozenset(cpus)
    beside = (core for core in cell.siblings if not core.isdisjoint(wanted))
    return wanted.union(*beside) & (cell.pcpus | wanted)


def room(cell: HostCell, policy: str | None) -> int:
    """Return the number of pinned vCPUs that fit by a thread policy."""
    if policy == ISOLATE:
        return len(cell.idle_cores)
    if policy == REQUIRE:
        return sum(len(core) for core in cell.free_cores if len(core) > 1)
    return len(cell.free_pcpus)


def has_room(cell: HostCell, vcpus: int, emulator: int, policy: str | None) -> bool:
    """Return whether ``pin`` would succeed."""
    if not vcpus + emulator:
        return True
    if vcpus + emulator > (len(cell.idle_cores) if policy == ISOLATE else len(cell.free_pcpus)):
        return False
    return policy != REQUIRE or vcpus <= room(cell, policy)


def _pin_isolated(cell: HostCell, vcpus: int, emulator: int) -> Pinned | None:
    cores = cell.idle_cores
    if len(cores) < vcpus + emulator:
        return None
    cpus = [min(core) for core in cores[: vcpus + emulator]]
    return Pinned(tuple(cpus[:vcpus]), frozenset(cpus[vcpus:]))


def _take_together(cores: Sequence[_Core], count: int) -> list[int] | None:
    """Take whole cores while possible, then the smallest core that suffices."""
    if sum(map(len, cores)) < count:
        return None
    chosen: list[int] = []
    left = sorted(cores, key=lambda core: (-len(core), min(core)))
    while len(chosen) < count:
        missing = count - len(chosen)
        enough = [core for core in left if len(core) >= missing]
        core = min(enough, key=lambda core: (len(core), min(core))) if enough else left[0]
        left.remove(core)
        chosen += sorted(core)[:missing]
    return chosen


def _take_scattered(cores: list[_Core], count: int) -> list[int] | None:
    """Take from the cores with the fewest free threads, to keep whole cores for others."""
    cpus = [
        cpu for core in sorted(cores, key=lambda core: (len(core), sorted(core))) for cpu in core
    ]
    return sorted(cpus[:count]) if len(cpus) >= count else None
