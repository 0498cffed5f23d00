"""Optional devices of guests: which ones flavor and image ask for, and which a host offers."""

import dataclasses
from collections.abc import Iterator
from typing import Self
from xml.etree.ElementTree import Element

from oslo_utils import strutils

from objects.images import guest_properties
from objects.instance import Instance

VIRTIO = "virtio"
SOUND_MODELS = guest_properties.SETTINGS["sound_model"].values or frozenset()
_EMULATED_SOUND = SOUND_MODELS - {VIRTIO}
_EMULATED_FOR = ("x86_64", "i686")
# First versions of libvirt and of QEMU that have a device, as libvirt packs them. They count where
# libvirt does not report the device: it never reports packed virtqueues.
_PACKED_SINCE = (6_003_000, 4_002_000)
_VIRTIO_SOUND_SINCE = (10_004_000, 8_002_000)


@dataclasses.dataclass(frozen=True, slots=True)
class GuestDevices:
    """The sound card of a guest, and whether its network interface has packed virtqueues."""

    sound_model: str | None = None
    has_packed_ring: bool = False

    @classmethod
    def of(cls, instance: Instance) -> Self:
        """Return what flavor or image ask for; an unknown model counts as none."""
        flavor, image = instance.flavor, instance.image
        model = guest_properties.asked(flavor, image, "sound_model")
        packed = guest_properties.asked(flavor, image, "virtio_packed_ring")
        return cls(
            model if model in SOUND_MODELS else None,
            strutils.bool_from_string(packed, default=False),
        )


NO_DEVICES = GuestDevices()


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceSupport:
    """What a host offers, as libvirt reports it in the domain capabilities of its guests.

    Where it reports nothing, architecture and versions decide. ``reported_sound`` are the models
    that it reports, None if it reports none or does not know of them.
    """

    arch: str
    libvirt_version: int
    hypervisor_version: int
    has_network: bool
    reported_sound: frozenset[str] | None = None

    def traits(self) -> Iterator[str]:
        """Yield the standard traits of the devices that guests can have."""
        if self._has(_PACKED_SINCE) and self.has_network:
            yield "COMPUTE_NET_VIRTIO_PACKED"
        for model in self.sound_models():
            yield f"COMPUTE_SOUND_MODEL_{model.upper()}"

    def sound_models(self) -> Iterator[str]:
        """Yield the sound models that guests can have."""
        if self.reported_sound is not None:
            yield from SOUND_MODELS & self.reported_sound
            return
        if self.arch in _EMULATED_FOR:
            yield from _EMULATED_SOUND
        if self._has(_VIRTIO_SOUND_SINCE):
            yield VIRTIO

    def _has(self, since: tuple[int, int]) -> bool:
        libvirt, hypervisor = since
        return self.libvirt_version >= libvirt and self.hypervisor_version >= hypervisor


def reported_models(domain_capabilities: Element, device: str) -> frozenset[str] | None:
    """Return the models of a device in domain capabilities, None if they do not have the device."""
    found = domain_capabilities.find(f"./devices/{device}")
    if found is None:
        return None
    if found.get("supported") != "yes":
        return frozenset()
    values = found.iterfind("./enum[@name='model']/value")
    return frozenset(value.text for value in values if value.text)
