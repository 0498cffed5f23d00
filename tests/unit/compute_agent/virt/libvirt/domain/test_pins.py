"""Places as pins, and pins in a domain."""

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement
from compute_agent.virt.libvirt.domain.pins import Pins
from compute_agent.virt.machine.cpu_split import CpuSplit
from objects.numa import HostCell, InstanceCell, InstanceTopology

CELLS = (
    HostCell(0, cpus=frozenset({0, 1}), pcpus=frozenset({2, 3})),
    HostCell(1, cpus=frozenset({4, 5}), pcpus=frozenset({6, 7})),
)
SPLIT = CpuSplit(frozenset({0, 1, 4, 5}), frozenset({2, 3, 6, 7}), is_configured=True)
ALL_SHARED = CpuSplit(frozenset(range(8)), frozenset(), is_configured=False)
MIXED = InstancePlacement(
    InstanceTopology(
        (
            InstanceCell(
                0,
                vcpus=frozenset({0}),
                pinned_vcpus=frozenset({1}),
                host_cell=1,
                pinning={1: 6},
                emulator_cpus=frozenset({7}),
            ),
        )
    )
)
DOMAIN = """<domain><vcpu placement='static' cpuset='0-7'>2</vcpu>
<cputune><shares>9</shares></cputune></domain>"""


def one(parent: Element, path: str) -> Element:
    found = parent.find(path)
    assert found is not None
    return found


def test_shared_vcpus_run_on_the_shared_cpus_of_their_cell() -> None:
    """Pinned ones on the one that is theirs, the emulator on its own."""
    pins = Pins.of(MIXED, CELLS, SPLIT)
    assert pins.vcpus == {0: frozenset({4, 5}), 1: frozenset({6})}
    assert pins.emulator == frozenset({7})
    assert pins.cells == {0: 1}


def test_an_emulator_without_a_cpu_of_its_own_runs_where_the_guest_does() -> None:
    cell = InstanceCell(0, pinned_vcpus=frozenset({0, 1}), host_cell=0, pinning={0: 2, 1: 3})
    place = InstancePlacement(InstanceTopology((cell,)))
    assert Pins.of(place, CELLS, SPLIT).emulator == frozenset({2, 3})


@pytest.mark.parametrize(
    ("split", "cpus"), [(SPLIT, {0, 1, 4, 5}), (ALL_SHARED, {2, 3})], ids=["set", "no set"]
)
def test_a_shared_emulator_runs_on_the_shared_cpus(split: CpuSplit, cpus: set[int]) -> None:
    """Without such a set, where the guest does."""
    cell = InstanceCell(0, pinned_vcpus=frozenset({0, 1}), host_cell=0, pinning={0: 2, 1: 3})
    topology = InstanceTopology((cell,), cpu_policy="dedicated", emulator_threads_policy="share")
    pins = Pins.of(InstancePlacement(topology), CELLS, split)
    assert pins.emulator == cpus
    assert pins.vcpus == {0: frozenset({2}), 1: frozenset({3})}


def test_who_has_no_place_keeps_off_dedicated_cpus() -> None:
    assert Pins.of(ANYWHERE, CELLS, SPLIT).shared == frozenset({0, 1, 4, 5})
    assert Pins.of(ANYWHERE, CELLS, ALL_SHARED).shared is None


def test_pins_come_back_from_their_wire_form() -> None:
    for pins in (Pins.of(MIXED, CELLS, SPLIT), Pins.of(ANYWHERE, CELLS, SPLIT), Pins()):
        assert Pins.from_plain(pins.to_plain()) == pins


def test_pins_replace_those_that_are_there() -> None:
    domain = ElementTree.fromstring(DOMAIN)
    Pins.of(MIXED, CELLS, SPLIT).write(domain)
    tunes = [*one(domain, "cputune"), *one(domain, "numatune")]
    written = [(element.tag, dict(element.attrib)) for element in tunes]
    assert written == [
        ("shares", {}),
        ("vcpupin", {"vcpu": "0", "cpuset": "4-5"}),
        ("vcpupin", {"vcpu": "1", "cpuset": "6"}),
        ("emulatorpin", {"cpuset": "7"}),
        ("memory", {"mode": "strict", "nodeset": "1"}),
        ("memnode", {"cellid": "0", "mode": "strict", "nodeset": "1"}),
    ]
    assert one(domain, "vcpu").attrib == {}


def test_no_pins_leave_none() -> None:
    domain = ElementTree.fromstring(DOMAIN)
    Pins().write(domain)
    assert [child.tag for child in domain] == ["vcpu", "cputune"]
    assert [child.tag for child in one(domain, "cputune")] == ["shares"]  # the flavor's quota
    assert one(domain, "vcpu").attrib == {}
