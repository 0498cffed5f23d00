"""PCI devices: which are free, and how they are counted."""

import pytest

from compute_agent.host.pci_devices import PciDevice, free_devices, pools

CARD = PciDevice("0000:01:00.0", "8086", "10fb", "type-PF", 0)
FUNCTIONS = [
    PciDevice(f"0000:01:10.{number}", "8086", "10ed", "type-VF", 0, parent=CARD.address)
    for number in (0, 1)
]
GPU = PciDevice("0000:03:00.0", "10de", "1db4", numa_node=1, tags={"generation": "7"})
ALL = [GPU, *FUNCTIONS, CARD]


@pytest.mark.parametrize(
    ("taken", "left"),
    [
        ([], [CARD, *FUNCTIONS, GPU]),
        ([GPU], [CARD, *FUNCTIONS]),
        ([FUNCTIONS[0]], [FUNCTIONS[1], GPU]),
        ([CARD], [GPU]),
    ],
    ids=["none", "a-device", "a-function", "a-card"],
)
def test_what_is_taken_takes_what_it_is_part_of(
    taken: list[PciDevice], left: list[PciDevice]
) -> None:
    """A card without its functions, a function without its card; in the order of addresses."""
    assert free_devices(ALL, {device.address for device in taken}) == left


def test_devices_alike_are_one_pool() -> None:
    """By ids, type, node, network and tags, not by address or card."""
    other_card = PciDevice("0000:02:10.0", "8086", "10ed", "type-VF", 0, parent="0000:02:00.0")
    elsewhere = PciDevice("0000:09:10.0", "8086", "10ed", "type-VF", 1)
    wired = PciDevice("0000:09:10.1", "8086", "10ed", "type-VF", 1, physical_network="lab")
    found = pools([*FUNCTIONS, other_card, elsewhere, wired, GPU])
    counted = [(p["vendor_id"], p["numa_node"], p["physical_network"], p["count"]) for p in found]
    assert sorted(counted, key=str) == [
        ("10de", 1, None, 1),
        ("8086", 0, None, 3),
        ("8086", 1, "lab", 1),
        ("8086", 1, None, 1),
    ]
    assert {"generation": "7"} in [pool["tags"] for pool in found]
