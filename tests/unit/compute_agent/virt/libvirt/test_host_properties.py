"""Properties of a host: PCI devices as libvirt describes them."""

from compute_agent.host.pci_devices import PciDevice
from compute_agent.virt.libvirt.host_properties import parse_device

PCI = """
<device><name>pci_0000_0a_10_3</name><capability type='pci'>
  <domain>0</domain><bus>10</bus><slot>16</slot><function>3</function>
  <product id='{product}'>x</product><vendor id='0x8086'>Intel</vendor>{more}
</capability></device>
"""
PHYSICAL = "<capability type='virt_functions' maxCount='63'/>"
VIRTUAL = """<capability type='phys_function'>
  <address domain='0x0000' bus='0x0a' slot='0x00' function='0x1'/></capability>"""


def described(product: str = "0x10ed", more: str = "") -> PciDevice | None:
    return parse_device(PCI.format(product=product, more=more))


def test_a_device_has_address_ids_and_cell() -> None:
    """Numbers are decimal there and hexadecimal in addresses."""
    assert described("0x1ed", "<numa node='1'/>") == PciDevice(
        "0000:0a:10.3", "8086", "01ed", "type-PCI", numa_node=1
    )


def test_a_card_that_can_be_divided() -> None:
    device = described(more=PHYSICAL)
    assert device is not None
    assert device.dev_type == "type-PF"


def test_a_part_of_a_card_names_it() -> None:
    device = described(more=VIRTUAL)
    assert device is not None
    assert (device.dev_type, device.parent) == ("type-VF", "0000:0a:00.1")


def test_other_devices_are_left_out() -> None:
    assert parse_device("<device><capability type='scsi_host'/></device>") is None
