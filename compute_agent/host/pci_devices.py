"""PCI devices of a host: free devices and pools of identical ones."""

import collections
import dataclasses
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Self

from objects.pci.pci import DEVICE_TYPES

PCI, PHYSICAL_FUNCTION, VIRTUAL_FUNCTION = DEVICE_TYPES


@dataclasses.dataclass(frozen=True, slots=True)
class PciDevice:
    """A device for instances. ``parent`` is the address of a virtual function's card.

    ``resource_class`` (None: derived from vendor and product) and ``traits`` are for placement.
    ``rp_uuid`` is the provider that tracks the device, or None.
    """

    address: str
    vendor_id: str
    product_id: str
    dev_type: str = PCI
    numa_node: int | None = None
    physical_network: str | None = None
    tags: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    parent: str | None = None
    resource_class: str | None = None
    traits: frozenset[str] = frozenset()
    rp_uuid: str | None = None

    @property
    def kind(self) -> dict[str, Any]:
        """Return the properties shared by all devices of its pool."""
        kind = {
            "vendor_id": self.vendor_id,
            "product_id": self.product_id,
            "dev_type": self.dev_type,
            "numa_node": self.numa_node,
            "physical_network": self.physical_network,
            "tags": dict(self.tags),
        }
        return kind if self.rp_uuid is None else {**kind, "rp_uuid": self.rp_uuid}

    @property
    def card(self) -> str:
        """The address of the card: the parent of a virtual function, else its own."""
        return self.parent or self.address

    def to_plain(self) -> dict[str, object]:
        """Return the device as JSON values, for journal and driver."""
        return {**self.kind, "address": self.address, "parent": self.parent}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        return cls(**plain)


def free_devices(devices: Iterable[PciDevice], taken: Collection[str]) -> list[PciDevice]:
    """Return the devices that can be assigned while others are taken, ordered by address.

    A card and its virtual functions exclude each other: while one of them is taken, the other is
    not free.
    """
    known = list(devices)
    broken_up = {device.parent for device in known if device.address in taken}
    return sorted(
        (
            device
            for device in known
            if device.address not in taken
            and device.address not in broken_up
            and device.parent not in taken
        ),
        key=lambda device: device.address,
    )


def pools(devices: Iterable[PciDevice]) -> list[dict[str, object]]:
    """Return the pools of identical devices with their counts, as schedulers see them."""
    counts = collections.Counter(_key(device.kind) for device in devices)
    return [{**json.loads(kind), "count": count} for kind, count in sorted(counts.items())]


def _key(kind: Mapping[str, Any]) -> str:
    return json.dumps(kind, sort_keys=True)
