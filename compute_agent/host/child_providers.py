"""Child providers of a host in placement: NUMA cells and PCI devices.

Their UUIDs are derived from the node's, so they are the same after every restart and in every
process.
"""

import collections
import dataclasses
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence

from oslo_config import cfg

from armillary import exception
from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.host.pci_devices import PHYSICAL_FUNCTION, VIRTUAL_FUNCTION, PciDevice
from compute_agent.virt.driver import ComputeDriver
from objects.pci import pci_names

NUMA_TRAIT = "HW_NUMA_ROOT"
DEVICE_TRAITS = frozenset({"COMPUTE_MANAGED_PCI_DEVICE", "OWNER_NOVA"})
"""Traits of a card's provider. The owner trait is needed because schedulers require it."""


@dataclasses.dataclass(frozen=True, slots=True)
class ChildProvider:
    """A child provider; ``parent_uuid`` is the node's UUID or that of another child."""

    uuid: str
    name: str
    parent_uuid: str
    inventories: Mapping[str, Mapping[str, float]]
    traits: frozenset[str]


def cell_uuid(node_uuid: str, cell_id: int) -> str:
    """Return the UUID of a NUMA cell's provider."""
    return _part_uuid(node_uuid, f"numa:{cell_id}")


def device_uuid(node_uuid: str, device: PciDevice) -> str:
    """Return the UUID of the provider that tracks a device, which is that of its card."""
    return _part_uuid(node_uuid, f"pci:{device.card}")


def named(devices: Iterable[PciDevice], node_uuid: str) -> list[PciDevice]:
    """Return the devices with the UUIDs of the providers that track them."""
    return [
        dataclasses.replace(device, rp_uuid=device_uuid(node_uuid, device)) for device in devices
    ]


def counted(devices: Iterable[PciDevice]) -> list[PciDevice]:
    """Return the devices that placement tracks.

    If virtual functions of a card are offered, they are tracked instead of the card.
    """
    known = list(devices)
    split = {device.card for device in known if device.dev_type == VIRTUAL_FUNCTION}
    return [
        device
        for device in known
        if device.dev_type == VIRTUAL_FUNCTION or device.address not in split
    ]


def children_of(
    conf: cfg.ConfigOpts, driver: ComputeDriver, node_uuid: str, *, unclaimed: Collection[str] = ()
) -> list[ChildProvider]:
    """Return the child providers of a host, parents before their children.

    ``unclaimed`` are addresses of devices whose instances have no claim on the provider, such as
    instances built before devices were reported. These devices are reserved.
    """
    found = _cells(driver, node_uuid) if conf.compute.numa_nodes_in_placement else []
    if not conf.pci.report_in_placement:
        return found
    above = {child.uuid for child in found}
    cards: dict[str, list[PciDevice]] = collections.defaultdict(list)
    for device in counted(driver.get_pci_devices()):
        cards[device.card].append(device)
    for address in sorted(cards):
        card = _card(driver.node, node_uuid, address, cards[address], set(unclaimed))
        is_there = card.parent_uuid in above
        found.append(card if is_there else dataclasses.replace(card, parent_uuid=node_uuid))
    return found


def unclaimed_in(places: Iterable[InstancePlacement]) -> set[str]:
    """Return the addresses of devices that are assigned without a provider UUID."""
    return {
        device.address for place in places for device in place.pci_devices if not device.rp_uuid
    }


def check_devices(host: str, devices: Sequence[PciDevice]) -> None:
    """Raise ConfigurationError if a card is offered both whole and as virtual functions.

    Placement could otherwise allocate both.
    """
    split = {device.card for device in devices if device.dev_type == VIRTUAL_FUNCTION}
    for device in devices:
        if device.dev_type == PHYSICAL_FUNCTION and device.address in split:
            raise exception.ConfigurationError(
                reason=f"[pci] device_spec of host {host} selects the card {device.address} and "
                "also virtual functions of it; with report_in_placement, select only one of them"
            )


def _cells(driver: ComputeDriver, node_uuid: str) -> list[ChildProvider]:
    return [
        ChildProvider(
            uuid=cell_uuid(node_uuid, cell.id),
            name=f"{driver.node}_NUMA{cell.id}",
            parent_uuid=node_uuid,
            inventories={},
            traits=frozenset({NUMA_TRAIT}),
        )
        for cell in driver.get_numa_cells()
    ]


def _card(
    node: str, node_uuid: str, address: str, devices: Sequence[PciDevice], unclaimed: set[str]
) -> ChildProvider:
    """Return a card's provider, below its NUMA cell if that is known, else below the node."""
    numa_node = devices[0].numa_node
    totals = collections.Counter(_class_of(device) for device in devices)
    reserved = collections.Counter(
        _class_of(device) for device in devices if {device.address, device.card} & unclaimed
    )
    return ChildProvider(
        uuid=device_uuid(node_uuid, devices[0]),
        name=f"{node}_{address}",
        parent_uuid=node_uuid if numa_node is None else cell_uuid(node_uuid, numa_node),
        inventories={
            name: _inventory(total, reserved[name]) for name, total in sorted(totals.items())
        },
        # Only traits that all functions have.
        traits=frozenset.intersection(*(device.traits for device in devices)) | DEVICE_TRAITS,
    )


def _class_of(device: PciDevice) -> str:
    return device.resource_class or pci_names.resource_class_of(device.vendor_id, device.product_id)


def _inventory(total: int, reserved: int) -> dict[str, float]:
    return {
        "total": total,
        "reserved": reserved,
        "min_unit": 1,
        "max_unit": total,
        "step_size": 1,
        "allocation_ratio": 1.0,
    }


def _part_uuid(node_uuid: str, what: str) -> str:
    return str(uuid.uuid5(uuid.UUID(node_uuid), what))
