"""Parser of libvirt's PCI device descriptions."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from compute_agent.host.pci_devices import PCI, PHYSICAL_FUNCTION, VIRTUAL_FUNCTION, PciDevice
from compute_agent.virt.libvirt import xml_text


def parse_device(text: str) -> PciDevice | None:
    """Return the device in a node device's XML; None if it is not a PCI device with ids."""
    pci = xml_text.parse(text).find("./capability[@type='pci']")
    if pci is None:
        return None
    vendor, product = pci.find("vendor"), pci.find("product")
    if vendor is None or product is None:
        return None
    numa = pci.find("numa")
    function = pci.find("./capability[@type='phys_function']")
    card = None if function is None else function.find("address")
    return PciDevice(
        address=_own_address(pci),
        vendor_id=_id(vendor),
        product_id=_id(product),
        dev_type=_dev_type(pci, card),
        numa_node=None if numa is None else int(numa.attrib["node"]),
        parent=None if card is None else _address(card),
    )


def _dev_type(pci: Element, card: Element | None) -> str:
    if card is not None:
        return VIRTUAL_FUNCTION
    functions = pci.find("./capability[@type='virt_functions']")
    return PCI if functions is None else PHYSICAL_FUNCTION


def _id(element: Element) -> str:
    return f"{int(element.attrib['id'], 16):04x}"


def _own_address(pci: Element) -> str:
    numbers = (int(pci.findtext(name) or 0) for name in ("domain", "bus", "slot", "function"))
    return _written(*numbers)


def _address(element: Element) -> str:
    names = ("domain", "bus", "slot", "function")
    return _written(*(int(element.attrib[name], 16) for name in names))


def _written(domain: int, bus: int, slot: int, function: int) -> str:
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function:x}"
