"""Build of a new guest: files, definition, start. Each step is idempotent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oslo_config import cfg

from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.virt.libvirt import images, qemu_img
from compute_agent.virt.libvirt.guests import Guests
from compute_agent.virt.libvirt.images import BadImage, ImageFile
from compute_agent.virt.libvirt.instance_files import GIB
from compute_agent.virt.libvirt.ownership import Ownership
from compute_agent.virt.libvirt.qemu_img import DiskError
from objects.instance import Instance


class Builds:
    """Raises BadImage, DiskError, OSError, and libvirt's errors; the caller undoes the build."""

    def __init__(self, conf: cfg.ConfigOpts, guests: Guests) -> None:
        self._conf = conf
        self._guests = guests

    def build(self, instance: Instance, place: InstancePlacement) -> Any:
        """Build and start a guest, and return its domain; a running one is left as it is."""
        domain = self._guests.find(instance.uuid)
        if domain is not None and domain.isActive():
            return domain
        self._make_files(instance)
        domain = self._guests.define(instance, place)
        self._guests.start(domain)
        return domain

    def _make_files(self, instance: Instance) -> None:
        options = self._conf.libvirt
        image = images.file_of(instance.image, Path(options.images_path))
        _check_size(image, instance)
        files = self._guests.files(instance.uuid)
        files.make()
        note = Ownership.read(files.directory)
        if not note.is_of(self._guests.host):
            raise DiskError(f"{files.directory} belongs to the host {note.owner}")
        Ownership(owner=self._guests.host).write(files.directory)
        files.create_root(image, instance.flavor, options.images_type)
        files.create_extra(instance.flavor)


def _check_size(image: ImageFile, instance: Instance) -> None:
    size = qemu_img.virtual_size(image.path, image.format)
    root_gb = instance.flavor.root_gb
    if root_gb and size > root_gb * GIB:
        raise BadImage(
            f"the image's disk has {size} bytes, but the flavor's root disk only {root_gb} GiB"
        )
