"""Data of a Glance's images on this host: fetched once, kept in a directory of images."""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path

from oslo_config import cfg

from armillary import exception, private_files
from armillary.glance import Glance
from armillary.identifiers import checked_uuid
from objects.image_meta import ImageMeta
from objects.image_record import DRAFT_PREFIX

LOG = logging.getLogger(__name__)


class ImageCache:
    """Files of a directory, one an image, named after it; nothing happens without a Glance.

    Raises ConfigurationError for an incomplete login.
    """

    def __init__(self, conf: cfg.ConfigOpts, directory: Path) -> None:
        self._glance = Glance.from_conf(conf)
        self._directory = directory
        self._bytes_max = conf.image.size_bytes_max

    def fetch(self, image: ImageMeta) -> None:
        """Store an image's data, unless it is there.

        Raises ImageNotFound, Forbidden, Invalid for other data than its record says, Unavailable,
        and OSError.
        """
        if self._glance is None:
            return
        path = self._path(image)
        if path.exists():
            return
        private_files.make_directory(self._directory)
        draft = self._directory / f"{DRAFT_PREFIX}{path.name}"
        with open(draft, "ab", opener=private_files.opener) as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # one fetches, for all builds that need it
            if path.exists():
                return
            try:
                self._download(self._glance.download(image.id), image, file.fileno())
                draft.replace(path)
            except BaseException:
                os.ftruncate(file.fileno(), 0)
                raise
        LOG.info("Fetched image %s (%d bytes) from Glance", image.id, path.stat().st_size)

    def drop(self, image: ImageMeta) -> None:
        """Remove the data of an image that is not needed again. Raises OSError."""
        if self._glance is not None:
            self._path(image).unlink(missing_ok=True)

    def _path(self, image: ImageMeta) -> Path:
        return self._directory / checked_uuid("image", image.id)

    def _download(self, pieces: Iterator[bytes], image: ImageMeta, file: int) -> None:
        size, digest = 0, hashlib.sha512()
        bytes_max = image.size_bytes or self._bytes_max
        os.ftruncate(file, 0)
        for piece in pieces:
            size += len(piece)
            if size > bytes_max:
                raise _other_data(image, f"more than {bytes_max} bytes")
            digest.update(piece)
            while piece:
                piece = piece[os.write(file, piece) :]
        if image.size_bytes and size != image.size_bytes:
            raise _other_data(image, f"{size} bytes, not {image.size_bytes}")
        if image.sha512 is not None and digest.hexdigest() != image.sha512:
            raise _other_data(image, "another SHA-512 digest")
        os.fsync(file)


def _other_data(image: ImageMeta, found: str) -> exception.Invalid:
    return exception.Invalid(reason=f"the data of image {image.id} in Glance has {found}")
