"""Disks as logical volumes of one volume group of the host (LVM)."""

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from compute_agent.virt.libvirt.disks import block_devices, programs, qemu_img
from compute_agent.virt.libvirt.disks.images import ImageFile
from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from compute_agent.virt.libvirt.disks.storage import MIB, CopiedStorage, Role, Room
from compute_agent.virt.libvirt.domain.guest_disks import DiskKind, GuestDisk

DEVICES = Path("/dev")
_BEGUN = ".begun"
"""Suffix of drafts."""
_DEVICE_SECONDS_MAX = 30
_POLL_SECONDS = 0.05


class LvmStorage(CopiedStorage):
    """Volumes ``UUID_ROLE``, which take all their room when they are created.

    A volume may have been another guest's before, so each new one is overwritten with zeros.
    """

    name = "logical volumes"
    rounds_up_bytes = 32 * MIB  # extents are rarely larger; else swap is made again without need

    def __init__(self, group: str) -> None:
        self._group = group

    @property
    def volume_directory(self) -> Path:
        """Directory with the volumes' device files."""
        return DEVICES / self._group

    def check(self) -> None:
        try:
            self.room(Path())
        except DiskError as error:
            raise DiskError(
                f"[libvirt] images_volume_group is {self._group}: {error}; create the group "
                "(vgcreate), or change the option"
            ) from error

    def find(self, directory: Path, role: Role) -> GuestDisk | None:
        device = self.volume_directory / self.volume_name(directory, role)
        if not device.exists():
            return None
        return GuestDisk(str(device), "raw", DiskKind.BLOCK, cache="none")

    def new_root_bytes(self, image: ImageFile, size: int) -> int:
        return size

    def empty_bytes(self, size: int) -> int:
        return size

    def freed_bytes(self, directory: Path) -> int:
        disks = (self.find(directory, role) for role in Role)
        return sum(self.size(disk) for disk in disks if disk is not None)

    def make_bootable(self, directory: Path, role: Role, image: ImageFile, size: int) -> None:
        def fill(device: Path) -> None:
            qemu_img.write_to_device(image.path, image.format, device, seconds=self.copy_seconds)

        self.make(directory, role, size, fill)

    def make(self, directory: Path, role: Role, size: int, fill: Callable[[Path], None]) -> None:
        name = self.volume_name(directory, role)
        draft = name + _BEGUN
        self._remove(draft)
        programs.run("lvcreate", "-q", "-y", "-Wn", "-n", draft, "-L", f"{size}b", self._group)
        device = self.volume_directory / draft
        _await(device)
        block_devices.write_zeros(device)
        fill(device)
        self._remove(name)
        self._rename(draft, name)

    def make_empty(self, directory: Path, role: Role, disk_format: str, size: int) -> None:
        self.make(directory, role, size, lambda _device: None)

    def grow(self, disk: GuestDisk, size: int) -> None:
        before = self.size(disk)
        programs.run("lvextend", "-q", "-L", f"{size}b", disk.path)
        block_devices.write_zeros(Path(disk.path), start=before)

    def size(self, disk: GuestDisk) -> int:
        return block_devices.size(Path(disk.path))

    def remove(self, directory: Path, roles: Iterable[Role]) -> None:
        for role in roles:
            name = self.volume_name(directory, role)
            for each in (name, name + _BEGUN):
                self._remove(each)

    def room(self, instances: Path) -> Room:
        report = programs.run(
            "vgs", "--units", "b", "--nosuffix", "--reportformat", "json",
            "-o", "vg_size,vg_free", self._group,
        )  # fmt: skip
        try:
            (found,) = json.loads(report)["report"][0]["vg"]
            return Room(int(found["vg_size"]), int(found["vg_free"]))
        except (KeyError, IndexError, ValueError) as error:
            raise DiskError(f"vgs: unexpected output: {error}") from error

    def rename_disk(self, directory: Path, new: Path, role: Role) -> None:
        name = self.volume_name(directory, role)
        if (self.volume_directory / name).exists():
            self._rename(name, self.volume_name(new, role))

    def _rename(self, name: str, new: str) -> None:
        programs.run("lvrename", "-q", self._group, name, new)
        _await(self.volume_directory / new)

    def _remove(self, name: str) -> None:
        if (self.volume_directory / name).exists():
            programs.run("lvremove", "-q", "-y", f"{self._group}/{name}")


def _await(device: Path) -> None:
    """Wait for a device file, which udev makes. Raises DiskError."""
    give_up_at = time.monotonic() + _DEVICE_SECONDS_MAX
    while not device.exists():
        if time.monotonic() > give_up_at:
            raise DiskError(f"{device} has not appeared within {_DEVICE_SECONDS_MAX} s")
        time.sleep(_POLL_SECONDS)
