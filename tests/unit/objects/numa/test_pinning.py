"""CPUs are found for pinned vCPUs exactly when some choice keeps to the thread policy."""

import itertools
from collections.abc import Iterator

import pytest

from objects import numa
from objects.numa.instance import THREAD_POLICIES
from objects.numa.pinning import has_room, pin

Choice = tuple[frozenset[int], frozenset[int]]

CORES = {
    "no threads": (),
    "two threads": (frozenset((0, 1)), frozenset((2, 3))),
    "three and one": (frozenset((0, 1, 2)),),
    "threads of others": (frozenset((0, 8)), frozenset((1, 9)), frozenset((2, 3))),
}


def cells(cores: tuple[frozenset[int], ...]) -> Iterator[numa.HostCell]:
    """Yield cells of four dedicated CPUs of which any are taken; CPU 8 is shared, 9 in no set."""
    for size in range(5):
        for pinned in itertools.combinations(range(4), size):
            yield numa.HostCell(
                id=0, cpus=frozenset((8,)), pcpus=frozenset(range(4)),
                pinned=frozenset(pinned), siblings=cores,
            )  # fmt: skip


def choices(cell: numa.HostCell, vcpus: int, emulator: int, policy: str | None) -> set[Choice]:
    """Return all choices of CPUs for vCPUs and for the emulator that the policy allows."""
    free = sorted(cell.pcpus - cell.pinned)
    found = set()
    for chosen in itertools.combinations(free, vcpus + emulator):
        for extra in itertools.combinations(chosen, emulator):
            cpus = frozenset(chosen) - frozenset(extra)
            if is_allowed(cell, cpus, frozenset(extra), policy):
                found.add((cpus, frozenset(extra)))
    return found


def is_allowed(
    cell: numa.HostCell, cpus: frozenset[int], extra: frozenset[int], policy: str | None
) -> bool:
    def threads(cpu: int) -> frozenset[int]:
        return next((core for core in cell.siblings if cpu in core), frozenset((cpu,)))

    if policy == "require":
        return all(len((threads(cpu) & cell.pcpus) - cell.pinned) > 1 for cpu in cpus)
    if policy == "isolate":
        busy = cell.pinned | cell.cpus
        alone = cpus | extra
        return all(threads(cpu) & (busy | alone - {cpu}) == frozenset() for cpu in alone)
    return True


@pytest.mark.parametrize("policy", [None, *THREAD_POLICIES])
@pytest.mark.parametrize("cores", CORES.values(), ids=CORES)
def test_cpus_are_found_exactly_when_there_are_some(
    cores: tuple[frozenset[int], ...], policy: str | None
) -> None:
    """And are one of the choices that are allowed."""
    for cell, vcpus, emulator in itertools.product(cells(cores), range(1, 5), range(2)):
        allowed = choices(cell, vcpus, emulator, policy)
        found = pin(cell, vcpus, emulator, policy)
        assert has_room(cell, vcpus, emulator, policy) == bool(allowed)
        if found is None:
            assert not allowed
        else:
            assert len(found.cpus) == vcpus
            assert (frozenset(found.cpus), found.emulator_cpus) in allowed
