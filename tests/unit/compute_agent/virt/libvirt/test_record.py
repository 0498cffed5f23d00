"""Record in a guest's definition: it comes back from libvirt as it was written."""

from xml.etree import ElementTree

import pytest

from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement
from compute_agent.host.pci_devices import PciDevice
from compute_agent.virt.libvirt.record import NAMESPACE, DiskSizes, GuestRecord, write_place
from objects.numa import InstanceCell, InstanceTopology
from tests import builders

PLACE = InstancePlacement(
    InstanceTopology((InstanceCell(0, pinned_vcpus=frozenset({0}), memory_mb=8, pinning={0: 3}),)),
    (PciDevice("0000:06:00.1", "8086", "10ed", tags={"rack": "7"}),),
)
RECORD = GuestRecord.of(builders.an_instance("web & <co>"), PLACE, DiskSizes(0, 0))


def test_a_record_comes_back() -> None:
    text = ElementTree.tostring(RECORD.to_element(), encoding="unicode")
    assert GuestRecord.from_text(text) == RECORD
    assert f'"{NAMESPACE}"' in text


def test_a_record_comes_back_without_its_namespace() -> None:
    """So does libvirt return it."""
    text = ElementTree.tostring(RECORD.to_element(), encoding="unicode")
    bare = text.replace("armillary:", "").replace(f' xmlns:armillary="{NAMESPACE}"', "")
    assert GuestRecord.from_text(bare) == RECORD


def test_a_place_is_replaced() -> None:
    element = RECORD.to_element()
    write_place(element, ANYWHERE)
    text = ElementTree.tostring(element, encoding="unicode")
    assert GuestRecord.from_text(text).place == ANYWHERE


@pytest.mark.parametrize("text", ["", "<instance/>", "<instance><name/><project/></instance>"])
def test_what_is_not_a_record_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="metadata"):
        GuestRecord.from_text(text)
