"""The PCI devices of a machine, from files as the kernel writes them."""

from pathlib import Path

import pytest

from compute_agent.host.pci_devices import PciDevice
from compute_agent.virt.machine import machine_pci


def add(bus: Path, address: str, vendor: str, product: str, **files: str) -> Path:
    path = bus / address
    path.mkdir(parents=True)
    values = {"vendor": f"0x{vendor}", "device": f"0x{product}", "numa_node": "-1", **files}
    for name, text in values.items():
        (path / name).write_text(text + "\n")
    return path


@pytest.fixture
def bus(tmp_path: Path) -> Path:
    """Return a bus with a graphics card, and a network card that has one virtual function."""
    bus = tmp_path / "devices"
    add(bus, "0000:03:00.0", "10de", "1DB4", numa_node="1")
    card = add(bus, "0000:06:00.0", "8086", "10fb", numa_node="0", sriov_totalvfs="63")
    function = add(bus, "0000:06:10.0", "8086", "10ed", numa_node="0")
    (function / "physfn").symlink_to(card)
    (card / "virtfn0").symlink_to(function)
    return bus


def test_devices_are_told_apart(bus: Path) -> None:
    """Ids in small letters; a function knows its card."""
    assert machine_pci.devices(bus) == [
        PciDevice("0000:03:00.0", "10de", "1db4", numa_node=1),
        PciDevice("0000:06:00.0", "8086", "10fb", "type-PF", numa_node=0),
        PciDevice("0000:06:10.0", "8086", "10ed", "type-VF", numa_node=0, parent="0000:06:00.0"),
    ]


def test_a_device_of_no_node_is_near_no_cell(bus: Path) -> None:
    """The kernel writes -1, or nothing."""
    add(bus, "0000:07:00.0", "1af4", "1000")
    (add(bus, "0000:08:00.0", "1af4", "1001") / "numa_node").unlink()
    assert [device.numa_node for device in machine_pci.devices(bus)[-2:]] == [None, None]


def test_a_card_without_functions_is_an_ordinary_device(bus: Path) -> None:
    """It could have some and has none."""
    add(bus, "0000:09:00.0", "8086", "10fb", sriov_totalvfs="0")
    assert machine_pci.devices(bus)[-1].dev_type == "type-PCI"


def test_a_machine_without_the_bus_has_none(tmp_path: Path) -> None:
    """As some containers."""
    assert machine_pci.devices(tmp_path / "nothing") == []


def test_this_machine_s_devices_can_be_read() -> None:
    """Each has an address and ids of four digits."""
    found = machine_pci.devices()
    lengths = {len(text) for device in found for text in (device.vendor_id, device.product_id)}
    assert lengths == ({4} if found else set())
