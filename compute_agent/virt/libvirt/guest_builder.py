"""Building of guests: their disks from an image, definition and start; also those of lost hosts."""

import contextlib
from collections.abc import Iterator
from typing import Any

from oslo_config import cfg

from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.virt.libvirt.disks import config_disks, file_storage, image_formats, images
from compute_agent.virt.libvirt.disks.images import ImageFile
from compute_agent.virt.libvirt.disks.instance_files import InstanceFiles
from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from compute_agent.virt.libvirt.disks.storage import Role
from compute_agent.virt.libvirt.domain import guest_hardware
from compute_agent.virt.libvirt.guests import Guests, disk_bus
from compute_agent.virt.libvirt.ownership import Ownership
from objects.images import guest_properties
from objects.instance import Instance


class GuestBuilder:
    """Builds new guests, and checks before what they need. Raises libvirt's errors, too."""

    def __init__(self, conf: cfg.ConfigOpts, guests: Guests) -> None:
        self._conf = conf
        self._guests = guests

    def build(self, instance: Instance, place: InstancePlacement) -> Any:
        """Build and start a guest, and return its domain; a running one is left as it is.

        Each step is idempotent. Raises BadImage, DiskError, OSError, too; the caller undoes it.
        """
        domain = self._guests.find(instance.uuid)
        if domain is not None and domain.isActive():
            return domain
        self._make_files(instance)
        domain = self._guests.define(instance, place)
        self._guests.start(domain)
        return domain

    def recover(self, instance: Instance, place: InstancePlacement, former_host: str) -> Any:
        """Build and start a guest of a host that is down, and return its domain.

        It gets the disks that it had, if both hosts share them. Raises as ``build``; after an error
        the caller's ``remove`` gives them back.
        """
        files = self._guests.files(instance.uuid)
        domain = self._guests.find(instance.uuid)
        if domain is None or not domain.isActive():
            domain = self._with_its_disks(files, instance, place, former_host)
        if files.read_note().former is not None:
            files.write_note(Ownership(owner=self._guests.host))  # no way back from now on
        return domain

    def _with_its_disks(
        self, files: InstanceFiles, instance: Instance, place: InstancePlacement, former_host: str
    ) -> Any:
        files.make()
        root, note = files.root, files.read_note()
        is_taken = note.owner == self._guests.host and note.former == former_host
        if not (is_taken or note.owner == former_host):
            return self.build(instance, place)
        if root is None:
            raise DiskError(
                f"its root disk is missing in {files.directory}, where {former_host} had it; put "
                "it back, or remove the directory to have it built again from its image"
            )
        files.write_note(note.taken_by(self._guests.host))
        files.fence()
        is_overlay = root.format == file_storage.QCOW2
        with self._guests.held_image(instance.image if is_overlay else None, instance.uuid):
            files.create_extra(instance.flavor)
        domain = self._guests.define(instance, place)
        self._guests.start(domain)
        return domain

    @contextlib.contextmanager
    def checked_image(self, instance: Instance) -> Iterator[ImageFile]:
        """Have the image of a new guest on this host; a present guest is left alone.

        Raises BadImage, DiskError, Unavailable, OSError.
        """
        guest_hardware.check(instance)
        with self._guests.held_image(instance.image, instance.uuid):
            image = images.file_of(instance.image, self._guests.image_directory)
            image_formats.check(image)
            images.check_size(image, instance.flavor)
            yield image

    @contextlib.contextmanager
    def replaceable(self, instance: Instance) -> Iterator[bool]:
        """Have the image of a new guest on this host, and room for its disks.

        Lends whether the present guest, which is left alone, can be kept beside it. Raises as
        ``checked_image``.
        """
        with self.checked_image(instance) as image:
            files = self._guests.files(instance.uuid)
            needed = files.new_bytes(image, instance.flavor)
            try:
                self._check_room(files, needed)
            except DiskError:
                self._check_room(files, needed - files.storage.freed_bytes(files.directory))
                yield False
            else:
                yield True

    def _check_room(self, files: InstanceFiles, needed: int) -> None:
        with self._guests.room_held(files, Role.ROOT, max(0, needed)):
            pass

    def check_host(self, instance: Instance) -> None:
        """Raise BadImage or DiskError unless this host has what a new guest asks for.

        For new servers, placement and libvirt tell that; a rebuild would have lost its guest then.
        """
        disk_bus(instance)
        self._check_machine(instance)
        wanted = set(guest_properties.traits(instance.flavor, instance.image))
        if missing := sorted(wanted - self._guests.facts.traits()):
            raise DiskError(f"the image needs {', '.join(missing)}, which this host does not have")
        if config_disks.is_wanted(instance, self._conf):
            config_disks.need_program()

    def _check_machine(self, instance: Instance) -> None:
        kind = self._guests.kind(instance)
        machine = self._guests.facts.machine_for(kind, instance.image)
        if machine is not None and kind.machines and machine not in kind.machines:
            raise DiskError(f"this host does not have the machine type {machine}")

    def _make_files(self, instance: Instance) -> None:
        files = self._guests.files(instance.uuid)
        self._check_machine(instance)
        with self.checked_image(instance) as image:
            files.make()
            note = files.read_note()
            if not note.is_of(self._guests.host):
                raise DiskError(f"{files.directory} belongs to the host {note.owner}")
            files.write_note(Ownership(owner=self._guests.host))
            if files.root is None:
                with self._guests.room_held(
                    files, Role.ROOT, files.new_bytes(image, instance.flavor)
                ):
                    files.create_root(image, instance.flavor)
        if image.is_temporary and instance.image is not None:
            self._guests.image_cache.drop(instance.image)
        files.create_extra(instance.flavor)
        if config_disks.is_wanted(instance, self._conf):
            files.create_config_drive(
                lambda: config_disks.content(files.directory, instance, self._conf)
            )
