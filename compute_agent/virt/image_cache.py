"""Image cache of this host: data of images, fetched once and kept in a directory.

It comes from a Glance, or from our own image service if its directory is not this one. Old images
are removed (garbage collection) by age, and to keep within a maximum size.

Several hosts may share the directory, and it may have files of others. So a host removes only what
a host has fetched (``.fetched-ID``), and nothing that another host still notes a use of
(``.used-ID.HOST``, whose time is that of the last use).
"""

import collections
import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from oslo_config import cfg

from armillary import exception
from armillary.files import private_files
from armillary.images.glance import Glance
from armillary.names.identifiers import checked_uuid, is_uuid
from compute_agent.virt.image_fetch import (
    POLL_SECONDS,
    FetchStopped,
    ImageFetches,
    IsStopped,
    always_needed,
)
from compute_agent.virt.image_service import ImageService
from compute_agent.virt.transfers import Transfer
from objects.images.image_meta import ImageMeta
from objects.images.image_record import DRAFT_PREFIX, STORE_LOCK
from objects.images.image_ticket import READ

LOG = logging.getLogger(__name__)

MIB = 1024**2
_FETCHED, _USED, _LOCK = ".fetched-", ".used-", ".cache-lock"
SPARE_PART = 0.05
"""Of the bytes of an image, that stays free beside it: a full file system pauses guests."""
_DRAFT_SECONDS_MAX = 24 * 3600
"""Age at which the draft of an image that is not being fetched any more is removed."""


def no_bases() -> Collection[Path]:
    """Return no files: guests of the driver refer to none."""
    return ()


@dataclasses.dataclass(frozen=True, slots=True)
class _Remote:
    """Data that can be fetched: where from, and what it must be."""

    place: str
    size_bytes: int
    digests: frozenset[str]
    pieces: Callable[[], Iterator[bytes]]


@dataclasses.dataclass(frozen=True, slots=True)
class _Cached:
    """A fetched image: its size, and when this host used it last."""

    image_id: str
    size_bytes: int
    used_at: float


class ImageCache:
    """Files of a directory, one an image, named after it.

    ``service`` is our own image service; None: nothing is fetched without a Glance. ``find_bases``
    returns the files that disks of guests refer to; it may raise OSError. Raises
    ConfigurationError for an incomplete login.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        directory: Path,
        host: str,
        find_bases: Callable[[], Collection[Path]] = no_bases,
        clock: Callable[[], float] = time.time,
        *,
        service: ImageService | None = None,
    ) -> None:
        self._conf = conf
        self._service = service
        self._glance = Glance.from_conf(conf)
        self._directory = directory
        self._host = host
        self._find_bases = find_bases
        self._clock = clock
        self._lock = threading.Lock()
        self._held: collections.Counter[str] = collections.Counter()
        self._coming: dict[str, int] = {}  # image id -> bytes that are being fetched
        self._under_way = ImageFetches(always_needed if service is None else service.is_needed)

    @property
    def _fetches(self) -> bool:
        """Whether data is fetched at all: not from the service whose directory this is."""
        if self._glance is not None:
            return True
        return self._service is not None and not (self._directory / STORE_LOCK).exists()

    @contextlib.contextmanager
    def held(self, image: ImageMeta, instance_uuid: str) -> Iterator[None]:
        """Fetch an image, and keep it while a guest is built from it. Raises as ``fetch``."""
        with self._lock:
            self._held[image.id] += 1
        try:
            self.fetch(image, instance_uuid)
            yield
        finally:
            with self._lock:
                self._held[image.id] -= 1

    def fetch(self, image: ImageMeta, instance_uuid: str | None = None) -> bool:
        """Store an image's data, unless it is there; False if it cannot be fetched from anywhere.

        ``instance_uuid`` is the instance that needs it, if one does. Raises ImageNotFound,
        Forbidden, Invalid for other data than its record says, Unavailable, ImageCacheFull, and
        OSError.
        """
        path = self._path(image.id)
        if not self._fetches:
            return path.exists()
        private_files.make_directory(self._directory)
        if self._use(image.id):
            return True
        fetch = functools.partial(self._fetch, image, instance_uuid)
        return self._under_way.join(image.id, instance_uuid, fetch)

    def _fetch(self, image: ImageMeta, instance_uuid: str | None, is_stopped: IsStopped) -> bool:
        remote = self._find(image, instance_uuid)
        if remote is None:
            return False
        draft = self._draft(image.id)
        with open(draft, "ab", opener=private_files.opener) as file:
            _lock_file(file.fileno(), is_stopped)  # other agents may share the directory
            if self._use(image.id):
                return True
            try:
                with self._room_for(image.id, remote.size_bytes):
                    self._download(remote, image.id, file.fileno(), is_stopped)
                    with self._exclusive():
                        draft.replace(self._path(image.id))
                        self._mark(f"{_FETCHED}{image.id}")
                        self._mark(self._use_of(image.id))
            except BaseException:
                os.ftruncate(file.fileno(), 0)
                raise
        LOG.info("Fetched image %s (%d bytes) from %s", image.id, remote.size_bytes, remote.place)
        return True

    def _find(self, image: ImageMeta, instance_uuid: str | None) -> _Remote | None:
        """Return where an image is fetched from. Raises what the image service raises."""
        glance, service = self._glance, self._service
        if glance is not None:
            transfer = Transfer(image.id, self._conf)
            download = functools.partial(glance.download, image.id)
            pieces = functools.partial(transfer.resumed, download)
            return _Remote("Glance", image.size_bytes, _digests(image.sha512), pieces)
        ticket = None if service is None else service.get_ticket(image.id, READ, instance_uuid)
        if service is None or ticket is None:
            return None
        return _Remote(
            "the image service",
            ticket.size_bytes,
            _digests(image.sha512, ticket.sha512),
            functools.partial(service.download, ticket, instance_uuid),
        )

    def drop(self, image: ImageMeta) -> None:
        """Remove the data of an image that is not needed again. Raises OSError."""
        if self._fetches and self._directory.is_dir():
            with self._exclusive():
                if self._is_fetched(image.id):
                    self._remove(image.id)

    def list_ids(self, count_max: int) -> list[str]:
        """Return the ids of the images that are here, those used last, sorted."""
        found = []
        with contextlib.suppress(FileNotFoundError), os.scandir(self._directory) as entries:
            for entry in entries:
                if is_uuid(entry.name):
                    with contextlib.suppress(FileNotFoundError):  # it was removed meanwhile
                        found.append((self._used_at(entry.name), entry.name))
        return sorted(image_id for _, image_id in sorted(found, reverse=True)[:count_max])

    def expire(self) -> None:
        """Remove images that no guest uses and that are old, or too large together.

        Raises OSError, also if it cannot be seen which images guests use: then nothing is removed.
        """
        if not self._fetches or not self._directory.is_dir():
            return
        self._sweep_drafts()
        options = self._conf.image_cache
        with self._exclusive():
            unused = self._unused(self._note_bases())
            if options.remove_unused_base_images:
                until = self._clock() - options.remove_unused_original_minimum_age_seconds
                for cached in [each for each in unused if each.used_at <= until]:
                    self._release(cached)
                    unused.remove(cached)
            self._shrink(unused, 0)

    # Room -----------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _room_for(self, image_id: str, size_bytes: int) -> Iterator[None]:
        """Reserve room for an image. Raises ImageCacheFull, Unavailable, OSError."""
        with self._exclusive():
            if self._is_short(size_bytes):
                self._shrink(self._unused(self._note_bases()), size_bytes)
            if (left := self._left(size_bytes)) < 0:
                raise exception.ImageCacheFull(
                    image=image_id, host=self._host, missing_mb=-(left // MIB)
                )
            if self._is_short(size_bytes):
                free = self._free_bytes()
                raise exception.Unavailable(
                    reason=f"image {image_id} has {-(-size_bytes // MIB)} MiB, and "
                    f"{self._directory} has {max(0, free // MIB)} MiB free for it; make room on "
                    f"host {self._host}"
                )
            with self._lock:
                self._coming[image_id] = size_bytes
        try:
            yield
        finally:
            with self._lock:
                del self._coming[image_id]

    def _shrink(self, unused: list[_Cached], more_bytes: int) -> None:
        """Remove unused images until others fit."""
        for cached in unused:
            if not self._is_short(more_bytes):
                return
            self._release(cached)

    def _is_short(self, more_bytes: int) -> bool:
        """Return whether so much more does not fit into the cache or the file system."""
        return self._left(more_bytes) < 0 or more_bytes * (1 + SPARE_PART) > self._free_bytes()

    def _left(self, more_bytes: int) -> int:
        """Return the bytes that are left of the maximum size, or missing; 0 without one."""
        bytes_max = self._conf.image_cache.size_mb_max * MIB
        if not bytes_max:
            return 0
        with self._lock:
            left = bytes_max - more_bytes - sum(self._coming.values())
        return left - sum(cached.size_bytes for cached in self._fetched())

    def _free_bytes(self) -> int:
        """Return what the file system has free, less what is still to come of other images."""
        with self._lock:
            coming = dict(self._coming)
        free = shutil.disk_usage(self._directory).free
        for image_id, size in coming.items():
            with contextlib.suppress(FileNotFoundError):  # it is complete
                free -= max(0, size - self._draft(image_id).stat().st_size)
        return free

    def _unused(self, bases: Collection[Path]) -> list[_Cached]:
        """Return fetched images that no guest or build of this host uses, oldest use first."""
        with self._lock:
            held = {image_id for image_id, count in self._held.items() if count > 0}
        found = [
            cached
            for cached in self._fetched()
            if cached.image_id not in held and self._path(cached.image_id).resolve() not in bases
        ]
        return sorted(found, key=lambda cached: cached.used_at)

    def _fetched(self) -> list[_Cached]:
        found = []
        for mark in self._directory.glob(f"{_FETCHED}*"):
            image_id = mark.name.removeprefix(_FETCHED)
            with contextlib.suppress(FileNotFoundError):  # another host removed it
                size = self._path(image_id).stat().st_size
                found.append(_Cached(image_id, size, self._used_at(image_id)))
        return found

    def _note_bases(self) -> set[Path]:
        """Return the files that guests' disks refer to, and note that these are in use."""
        bases = {path.resolve() for path in self._find_bases()}
        for path in bases:
            if path.parent == self._directory.resolve() and self._is_fetched(path.name):
                self._mark(self._use_of(path.name))
        return bases

    def _release(self, cached: _Cached) -> None:
        """Remove an image, or only this host's use of it if others use it."""
        (self._directory / self._use_of(cached.image_id)).unlink(missing_ok=True)
        others = [mark.name for mark in self._directory.glob(f"{_USED}{cached.image_id}.*")]
        if others:
            return
        self._remove(cached.image_id)
        LOG.info(
            "Removed image %s (%d bytes), which no guest uses", cached.image_id, cached.size_bytes
        )

    def _sweep_drafts(self) -> None:
        """Remove drafts that an agent left when it died."""
        for draft in self._directory.glob(f"{DRAFT_PREFIX}*"):
            with contextlib.suppress(FileNotFoundError):
                is_old = draft.stat().st_mtime < self._clock() - _DRAFT_SECONDS_MAX
                if is_old and is_uuid(draft.name.removeprefix(DRAFT_PREFIX)):
                    draft.unlink()

    # Files ----------------------------------------------------------------------------------------

    def _exclusive(self) -> contextlib.AbstractContextManager[None]:
        """Keep all agents from removing and noting uses. Raises OSError."""
        return private_files.locked(self._directory / _LOCK)

    def _use(self, image_id: str) -> bool:
        """Note a use of an image; return whether it is here."""
        with self._exclusive():
            is_here = self._path(image_id).exists()
            if is_here and self._is_fetched(image_id):
                self._mark(self._use_of(image_id))
        return is_here

    def _mark(self, name: str) -> None:
        path = self._directory / name
        open(path, "ab", opener=private_files.opener).close()
        os.utime(path, times=(self._clock(), self._clock()))

    def _use_of(self, image_id: str) -> str:
        return f"{_USED}{image_id}.{self._host}"

    def _used_at(self, image_id: str) -> float:
        """Return when this host used an image last, or when it came. Raises FileNotFoundError."""
        try:
            return (self._directory / self._use_of(image_id)).stat().st_mtime
        except FileNotFoundError:
            return self._path(image_id).stat().st_mtime

    def _is_fetched(self, image_id: str) -> bool:
        return (self._directory / f"{_FETCHED}{image_id}").exists()

    def _remove(self, image_id: str) -> None:
        for name in (image_id, f"{_FETCHED}{image_id}", self._use_of(image_id)):
            (self._directory / name).unlink(missing_ok=True)

    def _path(self, image_id: str) -> Path:
        return self._directory / checked_uuid("image", image_id)

    def _draft(self, image_id: str) -> Path:
        return self._directory / f"{DRAFT_PREFIX}{checked_uuid('image', image_id)}"

    def _download(self, remote: _Remote, image_id: str, file: int, is_stopped: IsStopped) -> None:
        size, digest = 0, hashlib.sha512()
        bytes_max = remote.size_bytes or self._conf.image.size_bytes_max
        os.ftruncate(file, 0)
        for piece in remote.pieces():
            if is_stopped():
                raise FetchStopped
            size += len(piece)
            if size > bytes_max:
                raise _other_data(image_id, remote, f"more than {bytes_max} bytes")
            digest.update(piece)
            while piece:
                piece = piece[os.write(file, piece) :]
        if remote.size_bytes and size != remote.size_bytes:
            raise _other_data(image_id, remote, f"{size} bytes, not {remote.size_bytes}")
        if remote.digests - {digest.hexdigest()}:
            raise _other_data(image_id, remote, "another SHA-512 digest")
        os.fsync(file)


def _lock_file(file: int, is_stopped: IsStopped) -> None:
    """Lock a file as soon as no other agent has it. Raises FetchStopped."""
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if is_stopped():
                raise FetchStopped from None
            time.sleep(POLL_SECONDS)


def _digests(*known: str | None) -> frozenset[str]:
    return frozenset(digest for digest in known if digest is not None)


def _other_data(image_id: str, remote: _Remote, found: str) -> exception.Invalid:
    return exception.Invalid(reason=f"the data of image {image_id} in {remote.place} has {found}")
