"""Rescue of guests: they boot from a disk made of an image, with their own disks behind it.

A guest is rescued as long as it has a rescue disk, also when it is defined or started again. So an
agent or a daemon that ends meanwhile changes nothing.
"""

import logging
from collections.abc import Callable
from typing import Any

from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.virt.libvirt.disks import image_formats, images, qemu_img
from compute_agent.virt.libvirt.disks.images import BadImage
from compute_agent.virt.libvirt.disks.storage import Role
from compute_agent.virt.libvirt.domain import xml_text
from compute_agent.virt.libvirt.domain.guest_disks import SOURCE_ATTRIBUTES
from compute_agent.virt.libvirt.domain.guest_hardware import BIOS, UEFI, WITHOUT_BIOS
from compute_agent.virt.libvirt.guests import Guests
from objects.images import guest_properties
from objects.images.image_meta import ImageMeta
from objects.instance import Instance

LOG = logging.getLogger(__name__)

StartDefined = Callable[[Any, Instance, InstancePlacement], Any]
"""Defines a guest, given its domain or None, with the disks that it has; starts and returns it."""

_RESCUE_DEVICE = ("hw_rescue_device", "hw_rescue_bus")
"""Image properties that ask for a rescue disk behind the others."""


class Rescue:
    """Begins and ends rescues. Raises libvirt's errors, BadImage, DiskError, OSError."""

    def __init__(self, guests: Guests, start: StartDefined) -> None:
        self._guests = guests
        self._start = start

    def begin(
        self, instance: Instance, place: InstancePlacement, image: ImageMeta, grace_seconds: float
    ) -> Any:
        """Start a guest from its rescue disk, and return its domain. Idempotent.

        The disk is complete before the guest is shut down. After an error the guest is as before.
        """
        files = self._guests.files(instance.uuid)
        domain = self._guests.find(instance.uuid)
        was_on = domain is not None and bool(domain.isActive())
        was_rescued = files.rescue is not None
        try:
            self.make_disk(instance, image)
            if domain is not None and not self._is_rescued(domain):
                self._guests.shut_down(domain, grace_seconds)
            if domain is None or not domain.isActive():
                domain = self._start(domain, instance, place)
        except Exception:
            if not was_rescued:
                self._take_back(instance, place, is_on=was_on)
            raise
        return domain

    def make_disk(self, instance: Instance, image: ImageMeta) -> None:
        """Make the disk that a guest is rescued from.

        Raises BadImage, also for an image that asks for other hardware than the guest has, or that
        is larger than the flavor's disk; DiskError if the host has no room for it, which no
        scheduler has counted; and what ``Guests.held_image`` raises.
        """
        asked = [name for name in _RESCUE_DEVICE if name in image.properties]
        if asked:
            raise BadImage(
                f"{' and '.join(asked)} cannot be obeyed: the rescue disk is the first disk, on "
                "the bus of the guest's disks; use an image without"
            )
        kind = self._guests.facts.kind_for(instance.image)
        firmware = UEFI if kind is not None and kind.arch in WITHOUT_BIOS else BIOS
        for difference in guest_properties.differences(instance.image, image, firmware):
            raise BadImage(f"it is rescued with the hardware that it has, but {difference}")
        with self._guests.held_image(image, instance.uuid):
            found = images.file_of(image, self._guests.image_directory)
            image_formats.check(found)
            images.check_size(found, instance.flavor)
            files = self._guests.files(instance.uuid)
            if files.rescue is None:
                size = qemu_img.virtual_size(found.path, found.format)
                with self._guests.room_held(files, Role.RESCUE, size):
                    files.create_rescue(found)

    def end(self, instance: Instance, place: InstancePlacement) -> Any:
        """Remove the rescue disk, and start the guest from its own; return its domain. Idempotent.

        What is written to the rescue disk is lost.
        """
        domain = self._leave_disk(instance.uuid)
        if domain is None or not domain.isActive():
            domain = self._start(domain, instance, place)
        return domain

    def _leave_disk(self, uuid: str) -> Any:
        """End what runs from the rescue disk, and remove that; return the domain, or None."""
        domain = self._guests.find(uuid)
        if domain is not None and self._is_rescued(domain):
            self._guests.shut_down(domain)
        self._guests.files(uuid).remove_rescue()
        return domain

    def _is_rescued(self, domain: Any) -> bool:
        """Return whether a domain, rather than only its guest's directory, has the rescue disk."""
        files = self._guests.files(domain.UUIDString())
        return any(map(files.is_rescue, _sources(domain)))

    def _take_back(self, instance: Instance, place: InstancePlacement, *, is_on: bool) -> None:
        """Have a guest as it was before a rescue that failed."""
        try:
            if is_on:
                self.end(instance, place)
            else:
                self._leave_disk(instance.uuid)
        except Exception:
            LOG.exception("%s: a rescue that failed cannot be undone", instance.uuid)


def _sources(domain: Any) -> set[str]:
    """Return the paths of a domain's disks."""
    found = xml_text.parse(domain.XMLDesc(0)).iterfind("devices/disk/source")
    return {source.get(name, "") for source in found for name in SOURCE_ATTRIBUTES.values()}
