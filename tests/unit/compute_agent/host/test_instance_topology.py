"""Places: what they say about CPUs, and that they survive being written down."""

import json

import pytest

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement, PlacementWanted
from compute_agent.host.pci_devices import PciDevice
from objects.numa import HostCell, InstanceCell, InstanceTopology
from objects.pci.pci import PciRequest
from tests.fixtures.agent import a_build

CELLS = (
    HostCell(0, cpus=frozenset({0, 1}), pcpus=frozenset({2, 3})),
    HostCell(1, cpus=frozenset({4, 5}), pcpus=frozenset({6, 7})),
)
DEVICE = PciDevice(
    "0000:01:00.1", "8086", "10ed", "type-VF", 1, "lab", {"trusted": "true"}, "0000:01:00.0"
)


def a_topology(*cells: InstanceCell) -> InstanceTopology:
    return InstanceTopology(cells, cpu_policy="mixed")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([InstanceCell(0, pinned_vcpus=frozenset({0}), host_cell=0, pinning={0: 3})], {3}),
        ([InstanceCell(0, vcpus=frozenset({0}), host_cell=1)], {4, 5}),
        (
            [
                InstanceCell(0, frozenset({0}), frozenset({1}), host_cell=0, pinning={1: 2}),
                InstanceCell(
                    1, pinned_vcpus=frozenset({2}), host_cell=1, pinning={2: 6},
                    emulator_cpus=frozenset({7}),
                ),
            ],
            {0, 1, 2, 6, 7},
        ),
    ],
    ids=["dedicated", "shared", "mixed-and-emulator"],
)  # fmt: skip
def test_a_place_has_its_own_cpus_and_those_it_shares(
    cells: list[InstanceCell], expected: set[int]
) -> None:
    """Those of the host cells it is in, and of no other."""
    assert set(InstancePlacement(a_topology(*cells)).cpus(CELLS) or ()) == expected


def test_a_place_without_a_topology_says_nothing_of_cpus() -> None:
    """It may run wherever others do, with or without a device."""
    assert ANYWHERE.cpus(CELLS) is None
    assert InstancePlacement(pci_devices=(DEVICE,)).cpus(CELLS) is None


def test_a_place_survives_being_written_down() -> None:
    """As JSON text, with everything that is known of its devices."""
    cell = InstanceCell(0, pinned_vcpus=frozenset({0}), memory_mb=1, host_cell=0, pinning={0: 3})
    place = InstancePlacement(a_topology(cell), (DEVICE,))
    assert InstancePlacement.from_plain(json.loads(json.dumps(place.to_plain()))) == place


def test_what_is_wanted_is_in_the_request_spec() -> None:
    """Cells and devices; most ask for neither."""
    cell = InstanceCell(0, vcpus=frozenset({0}), memory_mb=1)
    request = PciRequest("gpu", 2, ({"vendor_id": "10de"},), "required")
    _instance, spec = a_build(
        numa_topology=a_topology(cell).to_plain(), pci_requests=[request.to_plain()]
    )
    assert PlacementWanted.of(spec) == PlacementWanted(a_topology(cell), (request,))
    assert PlacementWanted.of(a_build()[1]).is_anywhere


def test_nonsense_is_not_a_topology() -> None:
    """It is told as such, and does not look like a fault of the agent."""
    _instance, spec = a_build(numa_topology={"cells": [{}]})
    with pytest.raises(exception.InvalidNUMATopology):
        PlacementWanted.of(spec)
