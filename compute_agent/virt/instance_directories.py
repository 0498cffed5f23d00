"""Directories of a host's instances: the only place where an identifier becomes a path."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from armillary.identifiers import checked_uuid, is_uuid

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class InstanceDirectories:
    """Directories named after their instances' UUIDs, all of them directly below ``parent``.

    A name that is not a UUID, or that is a symbolic link, is none of them, so that no identifier
    leads out of ``parent``.
    """

    def __init__(self, parent: Path) -> None:
        self.parent = parent

    def of(self, instance_uuid: str) -> Path:
        """Return the directory of an instance, whether or not it exists.

        Raises Invalid if it is not a UUID, OSError (ELOOP) if the directory is a symbolic link.
        """
        path = self.parent / checked_uuid("instance_uuid", instance_uuid)
        if path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        return path

    def list(self) -> Iterator[Path]:
        """Yield the directories that exist, ordered by UUID. Raises OSError."""
        for path in sorted(self.parent.iterdir()):
            if is_uuid(path.name) and path.is_dir() and not path.is_symlink():
                yield path


def open_own(path: Path) -> BinaryIO:
    """Open a file of an instance's directory to read bytes; never follow a symbolic link.

    Raises OSError; it does not wait for the other end of a pipe.
    """
    return os.fdopen(os.open(path, _READ), "rb")
