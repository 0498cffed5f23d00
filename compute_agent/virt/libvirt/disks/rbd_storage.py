"""Disks as images of one pool of a Ceph cluster (RBD), which several hosts reach."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from armillary.files import private_files
from compute_agent.virt.libvirt.disks import programs, qemu_img
from compute_agent.virt.libvirt.disks.images import ImageFile
from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from compute_agent.virt.libvirt.disks.storage import DiskStorage, Role, Room
from compute_agent.virt.libvirt.domain.guest_disks import CephAccess, DiskKind, GuestDisk

_BEGUN = ".begun"
"""Suffix of drafts."""
_NOT_FOUND = "(2) No such file or directory"
_LOOK_SECONDS_MAX = 30
_FENCE_SECONDS = 24 * 3600
"""How long Ceph refuses a client. QEMU does not open its disks again, so this is for ever."""


class RbdStorage(DiskStorage):
    """Images ``UUID_ROLE``, and objects ``UUID_owner`` with the notes of their owners.

    Its disks are never copied: a guest moves between hosts that reach the same pool.
    """

    def __init__(self, pool: str, ceph: CephAccess) -> None:
        self._pool = pool
        self._ceph = ceph
        self.name = f"the pool {pool} of Ceph"

    def check(self) -> None:
        try:
            self.room(Path())
        except DiskError as error:
            raise DiskError(
                f"[libvirt] images_rbd_pool is {self._pool}: {error}; look at images_rbd_ceph_conf "
                "and rbd_user, or create the pool"
            ) from error

    def find(self, directory: Path, role: Role) -> GuestDisk | None:
        name = self._image(directory, role)
        if self._info(name) is None:
            return None
        return GuestDisk(name, "raw", DiskKind.NETWORK, ceph=self._ceph)

    def make_bootable(self, directory: Path, role: Role, image: ImageFile, size: int) -> None:
        draft = self._new_draft(directory, role)
        url = self._url(draft)
        qemu_img.copy(image.path, image.format, url, "raw", seconds=self.copy_seconds)
        found = self._info(draft)
        if found is not None and found["size"] < size:
            self._resize(draft, size)
        self._publish(draft, directory, role)

    def make(self, directory: Path, role: Role, size: int, fill: Callable[[Path], None]) -> None:
        draft = self._new_draft(directory, role)
        local = directory / f".{role}{_BEGUN}"
        try:
            with open(local, "wb", opener=private_files.opener) as file:
                file.truncate(size)
            fill(local)
            self._rbd("import", "--no-progress", str(local), draft, seconds=self.copy_seconds)
        finally:
            local.unlink(missing_ok=True)
        self._publish(draft, directory, role)

    def grow(self, disk: GuestDisk, size: int) -> None:
        self._resize(disk.path, size)

    def size(self, disk: GuestDisk) -> int:
        found = self._info(disk.path)
        if found is None:
            raise DiskError(f"{disk.path} does not exist")
        return int(found["size"])

    def remove(self, directory: Path, roles: Iterable[Role]) -> None:
        for role in roles:
            name = self._image(directory, role)
            for each in (name, name + _BEGUN):
                self._remove(each)

    def fence(self, disks: Iterable[GuestDisk]) -> None:
        for disk in disks:
            said = json.loads(self._rbd("status", "--format", "json", disk.path))
            for watcher in said["watchers"]:
                programs.run(
                    "ceph", *self._access(), "osd", "blocklist", "add", watcher["address"],
                    str(_FENCE_SECONDS), timeout_seconds=_LOOK_SECONDS_MAX,
                )  # fmt: skip

    def room(self, instances: Path) -> Room:
        said = programs.run(
            "ceph", *self._access(), "df", "--format", "json", timeout_seconds=_LOOK_SECONDS_MAX
        )
        for pool in json.loads(said)["pools"]:
            if pool["name"] == self._pool:
                free, stored = int(pool["stats"]["max_avail"]), int(pool["stats"]["stored"])
                return Room(free + stored, free)
        raise DiskError(f"Ceph has no pool of the name {self._pool}")

    def url(self, disk: GuestDisk) -> str:
        return self._url(disk.path)

    def rename(self, directory: Path, new: Path) -> None:
        super().rename(directory, new)
        if (text := self.read_note(directory)) is not None:
            self.write_note(new, text)
            self.remove_note(directory)

    def rename_disk(self, directory: Path, new: Path, role: Role) -> None:
        name = self._image(directory, role)
        if self._info(name) is not None:
            self._rbd("rename", name, self._image(new, role))

    def read_note(self, directory: Path) -> str | None:
        try:
            return self._rados("get", _note(directory), "-")
        except DiskError as error:
            if _NOT_FOUND in str(error):
                return None
            raise

    def write_note(self, directory: Path, text: str) -> None:
        self._rados("put", _note(directory), "-", given=text)

    def remove_note(self, directory: Path) -> None:
        try:
            self._rados("rm", _note(directory))
        except DiskError as error:
            if _NOT_FOUND not in str(error):
                raise

    def _image(self, directory: Path, role: Role) -> str:
        return f"{self._pool}/{self.volume_name(directory, role)}"

    def _new_draft(self, directory: Path, role: Role) -> str:
        draft = self._image(directory, role) + _BEGUN
        self._remove(draft)
        return draft

    def _publish(self, draft: str, directory: Path, role: Role) -> None:
        name = self._image(directory, role)
        self._remove(name)
        self._rbd("rename", draft, name)

    def _info(self, name: str) -> dict[str, Any] | None:
        try:
            said = self._rbd("info", "--format", "json", name)
        except DiskError as error:
            if _NOT_FOUND in str(error):
                return None
            raise
        found: dict[str, Any] = json.loads(said)
        return found

    def _resize(self, name: str, size: int) -> None:
        self._rbd("resize", "--no-progress", "--size", f"{size}B", name)

    def _remove(self, name: str) -> None:
        try:
            self._rbd("rm", "--no-progress", name, seconds=self.copy_seconds)
        except DiskError as error:
            if _NOT_FOUND not in str(error):
                raise

    def _rbd(self, command: str, *arguments: str, seconds: float = _LOOK_SECONDS_MAX) -> str:
        return programs.run("rbd", *self._access(), command, *arguments, timeout_seconds=seconds)

    def _rados(self, command: str, *arguments: str, given: str | None = None) -> str:
        return programs.run(
            "rados", *self._access(), "-p", self._pool, command, *arguments,
            timeout_seconds=_LOOK_SECONDS_MAX, given=given,
        )  # fmt: skip

    def _access(self) -> list[str]:
        user = ["--id", self._ceph.user] if self._ceph.user else []
        return ["--conf", self._ceph.conf, *user]

    def _url(self, name: str) -> str:
        user = f":id={self._ceph.user}" if self._ceph.user else ""
        return f"rbd:{name}{user}:conf={self._ceph.conf}"


def _note(directory: Path) -> str:
    return f"{directory.name}_owner"
