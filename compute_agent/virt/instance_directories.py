"""Directories of a host's instances: the only place where an identifier becomes a path."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from armillary.names.identifiers import checked_uuid, is_uuid

FORMER = ".former"
"""Suffix of directories whose instances are rebuilt, until the new guest runs."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class InstanceDirectories:
    """Directories named after their instances' UUIDs, all of them directly below ``parent``.

    A name that is not a UUID, besides those of former directories, or that is a symbolic link, is
    none of them, so that no identifier leads out of ``parent``.
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

    def former(self, instance_uuid: str) -> Path:
        """Return where the directory of an instance is while the instance is rebuilt.

        Raises as ``of``.
        """
        path = self.of(instance_uuid)
        return path.with_name(path.name + FORMER)

    def list(self) -> Iterator[Path]:
        """Yield the directories that exist, ordered by UUID. Raises OSError."""
        return (path for path in self._inside() if is_uuid(path.name))

    def list_former(self) -> Iterator[Path]:
        """Yield those of instances that are rebuilt. Raises OSError."""
        return (path for path in self._inside() if path.suffix == FORMER and is_uuid(path.stem))

    def _inside(self) -> Iterator[Path]:
        for path in sorted(self.parent.iterdir()):
            if path.is_dir() and not path.is_symlink():
                yield path


def open_own(path: Path) -> BinaryIO:
    """Open a file of an instance's directory to read bytes; never follow a symbolic link.

    Raises OSError; it does not wait for the other end of a pipe.
    """
    return os.fdopen(os.open(path, _READ), "rb")
