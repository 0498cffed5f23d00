"""Data of images: one file an image, written aside and renamed when it is complete.

A file is named after the image and its content until the record refers to it, and after the image
alone from then on. So two uploads for one image never mix, and a process may die at any point.
"""

import contextlib
import hashlib
import os
import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO

import falcon
from oslo_config import cfg

from armillary import exception
from armillary.files import private_files
from objects.images.image_record import (
    DRAFT_PREFIX,
    PENDING_DELETE,
    SAVING,
    STORE_LOCK,
    ImageRecord,
    StoredImage,
    deletion_mark,
)

PIECE_BYTES = 262144
DRAFT_SECONDS_MAX = 86400.0
"""An older upload is that of a process that died."""
RESERVED_BYTES = 64 * 1024**2
"""Step in which an upload gets room."""
RETRY_SECONDS = 5
_MARK_CHARACTERS = 32
HOSTS = "\0hosts"
"""Stands for hosts, with their tickets, in place of a project; no project is called so."""


class ImageStore:
    """Files below ``[image] store_path``, of any number of API processes. Thread-safe."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._lock = threading.Lock()
        self._transfers = Counter[str | None]()

    def prepare(self) -> None:
        """Make the directory, with the file that tells hosts which share it whose it is.

        Raises OSError.
        """
        private_files.make_directory(self._directory)
        with self._exclusive():
            pass

    def write(
        self, image_id: str, source: IO[bytes], *, size_bytes: int | None, project_id: str | None
    ) -> StoredImage:
        """Store what a project or a host sends by ``source``, aside until ``publish``.

        Raises OSError, Invalid if it does not have the announced size, and status 413 or 503 for
        what exceeds a maximum.
        """
        with self._transfer(project_id):
            private_files.make_directory(self._directory)
            self._remove_old_drafts()
            draft = self._directory / f"{DRAFT_PREFIX}{secrets.token_hex(8)}"
            try:
                stored = _copy(source, draft, partial(self._reserve, announced=size_bytes))
                if size_bytes is not None and stored.size_bytes != size_bytes:
                    raise exception.Invalid(
                        f"The data has {stored.size_bytes} bytes, not {size_bytes} as announced."
                    )
                draft.replace(self._aside(image_id, stored.sha512))
            finally:
                draft.unlink(missing_ok=True)
        return stored

    def publish(self, image_id: str, stored: StoredImage) -> None:
        """Give the data the image's name: its record refers to it now."""
        with contextlib.suppress(FileNotFoundError):
            self._aside(image_id, stored.sha512).replace(self._directory / image_id)

    def discard(self, image_id: str, stored: StoredImage) -> None:
        """Remove data to which no record refers."""
        self._aside(image_id, stored.sha512).unlink(missing_ok=True)

    def is_deletion_noted(self, image_id: str) -> bool:
        """Return whether an image was deleted while its data was being stored."""
        return (self._directory / deletion_mark(image_id)).exists()

    def forget(self, image_id: str) -> None:
        """Remove the data that ``publish`` gave an image's name."""
        (self._directory / image_id).unlink(missing_ok=True)

    def read(
        self, record: ImageRecord, *, project_id: str | None, start: int = 0
    ) -> Iterator[bytes]:
        """Return the data for a project or a host, piece by piece, from a byte on.

        Raises FileNotFoundError, status 503.
        """
        image_id = record.image.id
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._transfer(project_id))
            try:
                file = (self._directory / image_id).open("rb")
            except FileNotFoundError:  # the process died before it was published
                file = self._aside(image_id, record.sha512 or "").open("rb")
            stack.callback(file.close)
            file.seek(start)
            return _Pieces(file, stack.pop_all())

    def remove(self, record: ImageRecord) -> None:
        """Remove an image's data, if it has any, and have a host remove what it is storing."""
        is_unstored = record.image.status == PENDING_DELETE and record.sha512 is None
        if (record.image.status == SAVING or is_unstored) and self._directory.is_dir():
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            mark = self._directory / deletion_mark(record.image.id)
            os.close(os.open(mark, flags, private_files.FILE_MODE))
        (self._directory / record.image.id).unlink(missing_ok=True)
        if record.sha512 is not None:
            self._aside(record.image.id, record.sha512).unlink(missing_ok=True)

    @property
    def _directory(self) -> Path:
        return Path(self._conf.image.store_path)

    def _aside(self, image_id: str, sha512: str) -> Path:
        return self._directory / f"{image_id}.{sha512[:_MARK_CHARACTERS]}"

    def _reserve(self, file: BinaryIO, reserved: int, needed: int, *, announced: int | None) -> int:
        """Let a draft grow to ``needed`` bytes or more; return its size. Raises status 413.

        The size of each file says what it may contain, so parallel uploads, of other processes and
        machines too, do not share the room that is left.
        """
        with self._exclusive():
            room = reserved + self._conf.image.store_bytes_max - self._used()
            step = min(reserved + RESERVED_BYTES, announced or sys.maxsize)
            size = min(max(needed, step), room, self._conf.image.size_bytes_max)
            if size < needed:
                raise falcon.HTTPContentTooLarge(
                    description="The data is larger than [image] size_bytes_max or than what is "
                    "left of store_bytes_max."
                )
            os.ftruncate(file.fileno(), size)
        return size

    def _exclusive(self) -> contextlib.AbstractContextManager[None]:
        return private_files.locked(self._directory / STORE_LOCK)

    def _used(self) -> int:
        used = 0
        for entry in os.scandir(self._directory):
            with contextlib.suppress(FileNotFoundError):
                used += entry.stat(follow_symlinks=False).st_size
        return used

    def _remove_old_drafts(self) -> None:
        before = time.time() - DRAFT_SECONDS_MAX
        for path in self._directory.glob(f"{DRAFT_PREFIX}*"):
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < before:
                    path.unlink()

    @contextlib.contextmanager
    def _transfer(self, project_id: str | None) -> Iterator[None]:
        with self._lock:
            whose = self._exhausted(project_id)
            if whose is not None:
                raise falcon.HTTPServiceUnavailable(
                    description=f"Too many uploads and downloads{whose} at the same time; "
                    "try again later.",
                    retry_after=RETRY_SECONDS,
                )
            self._transfers[project_id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._transfers[project_id] -= 1
                self._transfers += Counter()  # forgets projects without any

    def _exhausted(self, project_id: str | None) -> str | None:
        """Return whose transfers are as many as they may be, None if there is room for another."""
        options = self._conf.image
        if project_id == HOSTS:
            return " of hosts" if self._transfers[HOSTS] >= options.host_transfers_max else None
        if self._transfers.total() - self._transfers[HOSTS] >= options.transfers_max:
            return ""
        is_full = self._transfers[project_id] >= options.transfers_per_project_max
        return " of this project" if is_full else None


class _Pieces:
    """A file in pieces, which ends its transfer when it is closed, read or not."""

    def __init__(self, file: BinaryIO, resources: contextlib.ExitStack) -> None:
        self._file = file
        self._resources = resources

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        piece = self._file.read(PIECE_BYTES)
        if not piece:
            self.close()
            raise StopIteration
        return piece

    def close(self) -> None:
        """End the transfer. Idempotent."""
        self._resources.close()


def _copy(
    source: IO[bytes], path: Path, reserve: Callable[[BinaryIO, int, int], int]
) -> StoredImage:
    """Copy to a new file that only this user may read, and wait until it is on the disk.

    ``reserve`` lets the file grow from one size to another or more, and returns how large it is.
    """
    md5, sha512, size, reserved = hashlib.md5(usedforsecurity=False), hashlib.sha512(), 0, 0
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, private_files.FILE_MODE), "wb") as file:
        while piece := _read(source):
            size += len(piece)
            if size > reserved:
                reserved = reserve(file, reserved, size)
            md5.update(piece)
            sha512.update(piece)
            file.write(piece)
        file.truncate(size)
        file.flush()
        os.fsync(file.fileno())
    return StoredImage(size, md5.hexdigest(), sha512.hexdigest())


def _read(source: IO[bytes]) -> bytes:
    try:
        return source.read(PIECE_BYTES)
    except (ValueError, OSError) as error:  # the client went away in the middle of a chunk
        raise exception.Invalid("The data was cut off.") from error
