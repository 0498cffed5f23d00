"""The inside of simulated hosts: cells evenly split, devices dealt out, metrics declared."""

import os_traits
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary import exception
from compute_agent.virt.simulated.simulated_hosts import SimulatedHost, parse_hosts
from objects.numa import PagePool

SIZE = "vcpus=8:memory_mb=8192:disk_gb=1"


def a_host(more: str = "", size: str = SIZE) -> SimulatedHost:
    (host,) = parse_hosts([f"name=a:{size}{more}"])
    return host


def test_a_host_has_no_inside_unless_it_is_declared() -> None:
    """Most simulated hosts are just sizes, and their records small."""
    host = a_host()
    assert (host.cells, host.devices, host.metrics) == ((), (), {})


def test_cells_share_everything_evenly() -> None:
    """Dedicated CPUs first, then shared ones; cores lie within one kind."""
    host = a_host(":numa=2:pcpus=4:siblings=2:hugepages=2048@512")
    assert (host.resources.vcpus, host.resources.pcpus) == (8, 4)
    first, second = host.cells
    assert (sorted(first.pcpus), sorted(first.cpus)) == ([0, 1], [2, 3, 4, 5])
    assert (sorted(second.pcpus), sorted(second.cpus)) == ([6, 7], [8, 9, 10, 11])
    assert [sorted(core) for core in first.siblings] == [[0, 1], [2, 3], [4, 5]]
    assert (first.memory_mb, first.socket, second.socket) == (4096, 0, 1)
    assert first.pages == (PagePool(4, (4096 - 512) * 256), PagePool(2048, 256))


def test_threads_are_a_trait() -> None:
    """Thread policies ask for it."""
    assert os_traits.HW_CPU_HYPERTHREADING in a_host(":siblings=2").traits
    assert os_traits.HW_CPU_HYPERTHREADING not in a_host(":numa=2").traits


def test_without_dedicated_cpus_each_is_both() -> None:
    """As on a machine without CPU sets."""
    (cell,) = a_host(":numa=1").cells
    assert cell.cpus == cell.pcpus == set(range(8))


def test_devices_are_dealt_out_to_the_cells() -> None:
    """Each has an address of its own."""
    devices = a_host(":numa=2:pci=8086/10ED/VF@3+10de/1db4@40").devices
    assert [device.numa_node for device in devices[:4]] == [0, 1, 0, 1]
    assert len({device.address for device in devices}) == len(devices) == 43
    assert (devices[0].vendor_id, devices[0].product_id, devices[0].dev_type) == (
        "8086",
        "10ed",
        "type-VF",
    )
    assert devices[3].dev_type == "type-PCI"


def test_devices_of_a_host_without_cells_are_of_no_node() -> None:
    """As the kernel says where it does not know."""
    assert {device.numa_node for device in a_host(":pci=8086/10ed@2").devices} == {None}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (":numa=3", "vcpus=8 cannot be split evenly into 3 cells"),
        (":numa=2:siblings=8", "vcpus=8 cannot be split evenly into 2 cells"),
        (":numa=2:pcpus=3", "pcpus=3 cannot be split evenly"),
        (":numa=0", "numa must be an integer from 1 to 64"),
        (":siblings=two", "siblings must be an integer"),
        (":pcpus=-1", "pcpus must be an integer from 0"),
        (":hugepages=2048", "'2048' is not SIZE@COUNT"),
        (":numa=2:hugepages=2048@3", "'2048@3' cannot be split evenly"),
        (":hugepages=2048@9999", "the huge pages exceed the memory"),
        (":pci=8086", "'8086' is not VENDOR/PRODUCT@COUNT"),
        (":pci=8086/10ed/XF@1", "'8086/10ed/XF@1' is not VENDOR/PRODUCT@COUNT"),
        (":pci=8086/10ed@4000+8086/10fb@4000", "more than 4096 devices"),
        (":metrics=cpu.magic@1", "'cpu.magic' is not one of the metrics cpu.frequency"),
        (":metrics=cpu.percent@much", "'cpu.percent@much' is not METRIC@NUMBER"),
        (":metrics=cpu.percent@nan", "'cpu.percent@nan' is not METRIC@NUMBER"),
    ],
)
def test_a_mistake_is_told_with_what_was_written(more: str, why: str) -> None:
    """One sentence that quotes the declaration."""
    with pytest.raises(exception.ConfigurationError, match=r"\[simulated\] hosts") as caught:
        a_host(more)
    assert why in str(caught.value)


@given(
    cells=st.integers(1, 8), threads=st.integers(1, 4),
    shared=st.integers(1, 8), dedicated=st.integers(0, 8),
)  # fmt: skip
def test_the_cells_add_up_to_the_host(
    cells: int, threads: int, shared: int, dedicated: int
) -> None:
    """No CPU is in two cells, and none is lost."""
    unit = cells * threads
    size = f"vcpus={shared * unit}:memory_mb={cells * 64}:disk_gb=0"
    host = a_host(f":numa={cells}:siblings={threads}:pcpus={dedicated * unit}", size)
    cpus = [cpu for cell in host.cells for cpu in cell.cpus]
    pcpus = [cpu for cell in host.cells for cpu in cell.pcpus]
    assert sorted(cpus) == sorted(set(cpus))
    assert len(cpus) == shared * unit
    if dedicated:
        assert sorted({*cpus, *pcpus}) == list(range((shared + dedicated) * unit))
    assert sum(cell.memory_mb for cell in host.cells) == cells * 64
