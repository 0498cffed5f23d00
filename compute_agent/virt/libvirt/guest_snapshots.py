"""Snapshots of guests: copies of their root disks, of running guests where that is possible."""

from pathlib import Path
from typing import Any

from compute_agent.virt.driver import RUNNING
from compute_agent.virt.libvirt.disks import live_snapshots, qemu_img
from compute_agent.virt.libvirt.disks.file_storage import RAW
from compute_agent.virt.libvirt.disks.instance_files import InstanceFiles
from compute_agent.virt.libvirt.disks.storage import Role
from compute_agent.virt.libvirt.domain.guest_disks import GuestDisk
from compute_agent.virt.libvirt.guests import Guests
from compute_agent.virt.libvirt.power_states import power_state
from objects.images.image_meta import ImageMeta


class GuestSnapshots:
    """Copies root disks to images. Raises DiskError, OSError, and libvirt's errors."""

    def __init__(self, guests: Guests) -> None:
        self._guests = guests
        self._library = guests.library

    def copy(self, domain: Any, image: ImageMeta, path: Path) -> None:
        """Copy the root disk; a running guest continues where its hypervisor can copy meanwhile."""
        files = self._guests.files(domain.UUIDString())
        root, size = files.need_root(), files.copy_bytes(Role.ROOT)
        if power_state(self._library, domain) != RUNNING:
            self._copy_root(files, root, image, path)
            return
        copies = [(files.directory / live_snapshots.PART, size), (path, size)]
        try:
            seconds = files.storage.copy_seconds
            with (
                self._guests.disk_room.held(copies),
                live_snapshots.copied(
                    self._library, domain, root, files.directory, seconds
                ) as copied,
            ):
                _convert(files, copied.path, copied.format, image, path)
        except self._library.libvirtError as error:
            if error.get_error_code() != self._library.VIR_ERR_NO_SUPPORT:
                raise
            self._copy_paused(domain, files, root, image, path)

    def end_all(self) -> None:
        """End the copies that an earlier agent left: they would go on for ever."""
        for guest in self._guests.list():
            files = self._guests.files(guest.instance_uuid)
            domain = self._guests.find(guest.instance_uuid)
            if domain is not None and (root := files.root) is not None:
                live_snapshots.clear(self._library, domain, root, files.directory)

    def _copy_paused(
        self, domain: Any, files: InstanceFiles, root: GuestDisk, image: ImageMeta, path: Path
    ) -> None:
        domain.suspend()
        try:
            self._copy_root(files, root, image, path)
        finally:
            domain.resume()

    def _copy_root(
        self, files: InstanceFiles, root: GuestDisk, image: ImageMeta, path: Path
    ) -> None:
        with self._guests.disk_room.held([(path, files.copy_bytes(Role.ROOT))]):
            _convert(files, files.storage.url(root), root.format, image, path)


def _convert(
    files: InstanceFiles, source: str, source_format: str, image: ImageMeta, path: Path
) -> None:
    wanted, seconds = image.disk_format or RAW, files.storage.copy_seconds
    qemu_img.copy(source, source_format, path, wanted, seconds=seconds)
