"""Data of snapshots: into our own image service or a Glance.

A host that shares the directory of our image service writes there, others send the data over HTTP.
"""

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from oslo_config import cfg

from armillary import exception
from armillary.files import private_files
from armillary.images.glance import Glance
from armillary.names.identifiers import checked_uuid
from compute_agent.virt.image_service import ImageService
from objects.images import glance_documents
from objects.images.image_meta import ImageMeta
from objects.images.image_record import (
    DRAFT_PREFIX,
    INSTANCE_UUID,
    PRIVATE,
    STORE_LOCK,
    ImageRecord,
    StoredImage,
    deletion_mark,
)
from objects.images.image_ticket import WRITE

PIECE_BYTES = 1024**2


class SnapshotStore:
    """Files below ``[image] store_path``, one an image; complete ones have the image's name."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._directory = Path(conf.image.store_path)
        self._limits = conf.image

    def check(self, image: ImageMeta) -> None:
        """Raise OSError if the data of an image cannot be stored: there is no way, or no room."""
        if self._used_bytes() >= self._limits.store_bytes_max:
            raise OSError("the images have reached [image] store_bytes_max")

    def path(self, image_id: str) -> Path:
        """Return the file of an image, whether or not it exists."""
        return self._directory / checked_uuid("image", image_id)

    @contextlib.contextmanager
    def draft(self) -> Iterator[Path]:
        """Yield a path to write to, which does not exist yet; it is removed afterwards."""
        path = self._directory / f"{DRAFT_PREFIX}{secrets.token_hex(8)}"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def publish(self, draft: Path, image: ImageMeta, owner: str) -> StoredImage:
        """Give complete data its image's name; return its size and digests.

        ``owner`` is the project whose image it is.

        Raises OSError, also for data larger than the maximum or than the room that is left, and if
        the image was deleted meanwhile.
        """
        stored = _digest(draft)
        if stored.size_bytes > self._limits.size_bytes_max:
            raise OSError(f"its {stored.size_bytes} bytes exceed [image] size_bytes_max")
        if self._used_bytes() > self._limits.store_bytes_max:
            raise OSError("the images would exceed [image] store_bytes_max")
        draft.chmod(0o600)
        if os.geteuid() == 0:  # the image service is another account of the machine
            service = self._directory.stat()
            os.chown(draft, service.st_uid, service.st_gid)
        path = self.path(image.id)
        draft.replace(path)
        if (self._directory / deletion_mark(path.name)).exists():
            path.unlink(missing_ok=True)
            raise OSError("the image was deleted")
        return stored

    def _used_bytes(self) -> int:
        """Return the bytes of all files, with those that are still being written."""
        used = 0
        for entry in os.scandir(self._directory):
            with contextlib.suppress(FileNotFoundError):  # it was renamed or removed meanwhile
                used += entry.stat(follow_symlinks=False).st_size
        return used


class GlanceSnapshotStore(SnapshotStore):
    """Data of snapshots in a Glance; this host's directory has drafts, and what was fetched."""

    def check(self, image: ImageMeta) -> None:
        private_files.make_directory(self._directory)

    def publish(self, draft: Path, image: ImageMeta, owner: str) -> StoredImage:
        """Store the data; the image may not exist yet. Raises OSError."""
        stored = _digest(draft)
        record = ImageRecord(image, owner=owner, visibility=PRIVATE)
        try:
            glance = Glance(self._conf)
            glance.create(glance_documents.new_document(record))
            with draft.open("rb") as data:
                glance.upload(image.id, data)
        except exception.NotFound as error:
            raise OSError("the image was deleted") from error
        except exception.ArmillaryError as error:
            raise OSError(error.message) from error
        return stored


class RemoteSnapshotStore(SnapshotStore):
    """Data of snapshots that is sent to our image service; this host's directory has drafts."""

    def __init__(self, conf: cfg.ConfigOpts, service: ImageService) -> None:
        super().__init__(conf)
        self._service = service

    def check(self, image: ImageMeta) -> None:
        try:
            ticket = self._service.get_ticket(image.id, WRITE, image.properties[INSTANCE_UUID])
        except exception.ArmillaryError as error:
            raise OSError(error.message) from error
        if ticket is None:
            raise OSError(
                f"this host does not share the directory of the image service ([image] store_path "
                f"= {self._directory}), and [image] endpoint of the conductors is not set"
            )
        private_files.make_directory(self._directory)

    def publish(self, draft: Path, image: ImageMeta, owner: str) -> StoredImage:
        """Send the data. Raises OSError."""
        stored = _digest(draft)
        uuid = image.properties[INSTANCE_UUID]
        try:
            self._service.upload(image.id, draft, stored.sha512, uuid)
        except exception.NotFound as error:
            raise OSError("the image was deleted") from error
        except exception.ArmillaryError as error:
            raise OSError(error.message) from error
        return stored


def snapshot_store(conf: cfg.ConfigOpts, service: ImageService) -> SnapshotStore:
    """Return where the data of snapshots goes."""
    if conf.glance.auth_type is not None:
        return GlanceSnapshotStore(conf)
    if (Path(conf.image.store_path) / STORE_LOCK).exists():
        return SnapshotStore(conf)
    return RemoteSnapshotStore(conf, service)


def _digest(path: Path) -> StoredImage:
    """Read a file, and wait until it is on the disk."""
    md5, sha512, size = hashlib.md5(usedforsecurity=False), hashlib.sha512(), 0
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            size += len(piece)
            md5.update(piece)
            sha512.update(piece)
        os.fsync(file.fileno())
    return StoredImage(size, md5.hexdigest(), sha512.hexdigest())
