"""The NUMA cells of a machine, from files as the kernel writes them."""

from pathlib import Path

import pytest

from compute_agent.virt.machine import machine_numa
from compute_agent.virt.machine.cpu_split import CpuSplit
from objects.numa import HostCell, PagePool

PAGE_KB = machine_numa.PAGE_KB
GIB_KB = 1024**2
ALL = CpuSplit(frozenset(range(8)), frozenset(), is_configured=False)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def add_cpus(system: Path, cpus: list[int], socket: int) -> None:
    """Add CPUs of which each two are threads of a core."""
    for cpu in cpus:
        first = cpu - cpu % 2
        topology = system / f"cpu/cpu{cpu}/topology"
        write(topology / "thread_siblings_list", f"{first}-{first + 1}")
        write(topology / "physical_package_id", str(socket))


def add_node(system: Path, number: int, cpus: str, memory_kb: int = GIB_KB) -> Path:
    path = system / f"node/node{number}"
    write(path / "cpulist", cpus)
    write(path / "meminfo", f"Node {number} MemTotal:  {memory_kb} kB\nNode {number} MemFree: 1 kB")
    return path


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """Return a system of two sockets with a cell each, of four threads and 1 GiB."""
    for socket, cpus in ((0, [0, 1, 2, 3]), (1, [4, 5, 6, 7])):
        add_cpus(tmp_path, cpus, socket)
        path = add_node(tmp_path, socket, f"{cpus[0]}-{cpus[-1]}")
        write(path / "hugepages/hugepages-2048kB/nr_hugepages", str(128 * socket))
        write(path / "hugepages/hugepages-1048576kB/nr_hugepages", "0")
    write(tmp_path / "node/has_cpu", "0-1")
    return tmp_path


def test_cells_have_cpus_cores_memory_and_pages(system: Path) -> None:
    """Nothing of it is used; ordinary pages are what the huge ones leave."""
    split = CpuSplit(frozenset({0, 1, 4, 5}), frozenset({2, 3, 6, 7}), is_configured=True)
    assert machine_numa.cells(split, system) == (
        HostCell(
            id=0, socket=0, cpus=frozenset({0, 1}), pcpus=frozenset({2, 3}),
            siblings=(frozenset({0, 1}), frozenset({2, 3})), memory_mb=1024,
            pages=(PagePool(PAGE_KB, GIB_KB // PAGE_KB),),
        ),
        HostCell(
            id=1, socket=1, cpus=frozenset({4, 5}), pcpus=frozenset({6, 7}),
            siblings=(frozenset({4, 5}), frozenset({6, 7})), memory_mb=1024,
            pages=(PagePool(PAGE_KB, (GIB_KB - 128 * 2048) // PAGE_KB), PagePool(2048, 128)),
        ),
    )  # fmt: skip


def test_without_a_split_a_cpu_is_both_shared_and_dedicated(system: Path) -> None:
    """Who asks for CPUs of its own may come here, on what is counted as VCPU."""
    cells = machine_numa.cells(ALL, system)
    assert cells
    for cell in cells:
        assert cell.cpus == cell.pcpus != frozenset()


def test_a_cell_without_cpus_for_workloads_is_left_out(system: Path) -> None:
    """Memory alone, or CPUs that belong to the host."""
    add_node(system, 2, "")
    split = CpuSplit(frozenset({0, 1}), frozenset(), is_configured=True)
    assert [cell.id for cell in machine_numa.cells(split, system)] == [0]


def test_a_thread_beside_a_cpu_that_is_not_offered_is_not_a_sibling(system: Path) -> None:
    """No instance can be put on it."""
    split = CpuSplit(frozenset({0, 2, 3}), frozenset(), is_configured=True)
    (cell,) = machine_numa.cells(split, system)
    assert cell.siblings == (frozenset({2, 3}),)


def test_a_kernel_without_nodes_is_one_cell(tmp_path: Path) -> None:
    """With all CPUs and all memory, as in many containers."""
    write(tmp_path / "node/has_cpu", "0")
    write(tmp_path / "meminfo", f"MemTotal:     {2 * GIB_KB} kB")
    (cell,) = machine_numa.cells(ALL, tmp_path, tmp_path / "meminfo")
    assert (cell.id, cell.socket, cell.cpus) == (0, None, frozenset(range(8)))
    assert (cell.memory_mb, cell.siblings) == (2048, ())


def test_a_single_node_has_all_memory(tmp_path: Path) -> None:
    """The node's own count is behind in guests whose memory grew."""
    add_node(tmp_path, 0, "0-7", memory_kb=GIB_KB)
    write(tmp_path / "meminfo", f"MemTotal:     {3 * GIB_KB} kB")
    (cell,) = machine_numa.cells(ALL, tmp_path, tmp_path / "meminfo")
    assert cell.memory_mb == 3072


def test_this_machine_has_cells() -> None:
    """Whatever it is, its CPUs are in them."""
    import os

    available = frozenset(os.sched_getaffinity(0))
    cells = machine_numa.cells(CpuSplit(available, frozenset(), is_configured=False))
    assert frozenset().union(*(cell.cpus for cell in cells)) == available
    assert all(cell.memory_mb > 0 for cell in cells)
