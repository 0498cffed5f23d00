"""Cold migration of guests: payload from the source, takeover at the destination."""

import contextlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from oslo_config import cfg

from armillary.names.identifiers import is_uuid
from compute_agent.virt.libvirt.disks import disk_room, images, qemu_img
from compute_agent.virt.libvirt.disks.file_storage import QCOW2
from compute_agent.virt.libvirt.disks.instance_files import CONSOLES, InstanceFiles
from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from compute_agent.virt.libvirt.disks.storage import CopiedStorage
from compute_agent.virt.libvirt.guests import Guests
from compute_agent.virt.libvirt.moves import remote_files, remote_uris
from compute_agent.virt.libvirt.moves.payloads import ColdPayload, DiskFile, disk_name, role_of
from compute_agent.virt.libvirt.ownership import Ownership
from compute_agent.virt.libvirt.record import GuestRecord
from objects.images.image_meta import ImageMeta
from objects.instance import Instance


class ColdMoves:
    """Moves guests' files by shared storage, or by a copy over libvirt's own connection."""

    def __init__(self, conf: cfg.ConfigOpts, guests: Guests) -> None:
        self._conf = conf
        self._guests = guests
        self._images = Path(conf.libvirt.images_path)

    def describe(self, uuid: str, record: GuestRecord) -> ColdPayload:
        """Return what the destination of a guest that is off needs to know.

        Raises DiskError, OSError.
        """
        files = self._guests.files(uuid)
        root = files.need_root()
        note = files.read_note().leaving()
        files.write_note(note)
        names = [
            *sorted(path.name for path in files.directory.glob("*.raw")),
            *sorted(path.name for path in files.directory.glob("*.qcow2")),
            *(name for name in CONSOLES if (files.directory / name).exists()),
        ]
        return ColdPayload(
            host=self._guests.host,
            address=remote_uris.own_address(self._conf),
            directory=str(files.directory),
            token=note.token,
            root_gb=record.disks.root_gb,
            root_gb_least=record.least.root_gb,
            ephemeral_gb=record.disks.ephemeral_gb,
            files=names,
            base=self._base(Path(root.path)) if root.format == QCOW2 else None,
            storage=files.storage.name,
            volumes=_volumes(files),
            volume_directory=str(Path(root.path).parent),
            used_bytes=sum(disk_room.used_bytes(files.directory / name) for name in names),
        )

    def take_over(self, instance: Instance, sent: ColdPayload) -> None:
        """Make this host the owner of a guest's files. Raises DiskError, OSError, libvirtError."""
        files = self._guests.files(instance.uuid)
        note = files.read_note()
        if note.token is not None and note.token == sent.token:
            if sent.host != self._guests.host and not files.storage.is_in_directory:
                files.make()  # only the disks are shared
                self._fetch_files(files, sent)
            files.write_note(note.taken_by(self._guests.host))
        elif note.owner != self._guests.host or note.is_moving:
            with self._base_held(instance, sent):
                self._fetch(files, sent, instance.image)
            files.remove_extra_but(instance.flavor)  # the source keeps its own
        files.fit(instance.flavor)

    def _base_held(
        self, instance: Instance, sent: ColdPayload
    ) -> contextlib.AbstractContextManager[None]:
        """Have the image here that the disk refers to, if it can be fetched."""
        if sent.base is None or not instance.image or sent.base.name != instance.image.id:
            return contextlib.nullcontext()
        return self._guests.held_image(instance.image, instance.uuid)

    def _fetch(self, files: InstanceFiles, sent: ColdPayload, image: ImageMeta | None) -> None:
        if sent.storage != files.storage.name:
            raise DiskError(
                f"its disks are in the storage {sent.storage}, this host's are in "
                f"{files.storage.name}"
            )
        if not isinstance(files.storage, CopiedStorage):
            raise DiskError(f"this host and its source do not reach the same {sent.storage}")
        base_path = None if sent.base is None else self._checked_base(sent.base, image)
        _check_directory(files, sent)
        files.make()
        files.write_note(Ownership(owner=self._guests.host, is_moving=True))
        with self._guests.disk_room.held([(files.directory, sent.used_bytes)]):
            self._fetch_files(files, sent)
        for disk in sent.volumes:
            self._fetch_volume(files, sent, disk)
        self._secure_root(self._guests.files(files.uuid), base_path, sent.base)
        files.write_note(Ownership(owner=self._guests.host))

    def _fetch_files(self, files: InstanceFiles, sent: ColdPayload) -> None:
        _check_directory(files, sent)
        wanted = [files.directory / name for name in _plain_names(sent.files)]
        if wanted:
            remote_files.fetch(
                self._guests.library, remote_uris.daemon_uri(self._conf, sent.address),
                _pool_name(files), sent.directory, wanted,
            )  # fmt: skip

    def _fetch_volume(self, files: InstanceFiles, sent: ColdPayload, disk: DiskFile) -> None:
        try:
            role = role_of(disk)
        except ValueError as error:
            raise DiskError(f"the source sends a disk with the invalid name {error}") from error
        name = files.storage.volume_name(files.directory, role)

        def fill(device: Path) -> None:
            remote_files.fetch_volume(
                self._guests.library, remote_uris.daemon_uri(self._conf, sent.address),
                _pool_name(files), sent.volume_directory, name, device,
            )  # fmt: skip

        files.storage.make(files.directory, role, disk.bytes, fill)

    def _base(self, root: Path) -> DiskFile | None:
        """Return a root disk's backing file, by its name in the images directory."""
        found = qemu_img.base_of(root)
        if found is None:
            return None
        path = Path(found[0]).resolve()
        directory = self._images.resolve()
        if not path.is_relative_to(directory):
            raise DiskError(f"its backing file {path} is no longer below {directory}")
        return DiskFile(str(path.relative_to(directory)), found[1], path.stat().st_size)

    def _checked_base(self, base: DiskFile, image: ImageMeta | None) -> Path:
        """Return the backing file here, which may not be the image of another server."""
        path = (self._images / base.name).resolve()
        if not path.is_relative_to(self._images.resolve()) or base.format not in images.FORMATS:
            raise DiskError(f"{base.name} is not a valid image file")
        if is_uuid(path.name) and path.name not in _file_names(image):
            raise DiskError(f"its backing file is the image {path.name}, which is not the server's")
        if not path.is_file() or path.stat().st_size != base.bytes:
            raise DiskError(
                f"its backing file {base.name} ({base.bytes} bytes) does not exist in "
                f"{self._images} on this host"
            )
        return path

    def _secure_root(
        self, files: InstanceFiles, base: Path | None, described: DiskFile | None
    ) -> None:
        """Ensure that a disk from another host refers to no file here except its image."""
        root = files.root
        if root is None:
            raise DiskError("the source sent no root disk")
        if root.format != QCOW2:
            return
        if base is not None and described is not None:
            qemu_img.rebase(Path(root.path), base, described.format)
            qemu_img.refuse_data_file(Path(root.path))
        else:
            qemu_img.virtual_size(Path(root.path), QCOW2)


def _file_names(image: ImageMeta | None) -> set[str]:
    """Return the names that the file of a server's image may have."""
    if image is None:
        return set()
    return {image.id, PurePosixPath(image.properties.get(images.FILE_PROPERTY, "")).name}


def _volumes(files: InstanceFiles) -> list[DiskFile]:
    """Return the disks outside of the directory."""
    if files.storage.is_in_directory:
        return []
    return [
        DiskFile(disk_name(role, disk.format), disk.format, files.storage.size(disk))
        for role, disk in files.present()
    ]


def _check_directory(files: InstanceFiles, sent: ColdPayload) -> None:
    if PurePosixPath(sent.directory).name != files.uuid:
        raise DiskError(f"{sent.directory} is the directory of another guest")


def _pool_name(files: InstanceFiles) -> str:
    return f"armillary-{files.uuid}"


def _plain_names(names: Sequence[str]) -> list[str]:
    for name in names:
        is_file = name.endswith((".raw", ".qcow2")) or name in CONSOLES
        if PurePosixPath(name).name != name or not is_file:
            raise DiskError(f"the source sends a file with the invalid name {name}")
    return list(names)
