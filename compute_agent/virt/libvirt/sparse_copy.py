"""Copy of a file that preserves its holes."""

from __future__ import annotations

import errno
import os
from pathlib import Path

_CHUNK_BYTES = 64 * 1024 * 1024


def copy(source: Path, path: Path) -> None:
    """Copy a file, replacing ``path``. Raises OSError."""
    with source.open("rb") as reader, path.open("wb") as writer:
        size = os.fstat(reader.fileno()).st_size
        writer.truncate(size)
        start = 0
        while (start := _next_data(reader.fileno(), start)) < size:
            end = os.lseek(reader.fileno(), start, os.SEEK_HOLE)
            _copy_range(reader.fileno(), writer.fileno(), start, end)
            start = end


def _next_data(descriptor: int, start: int) -> int:
    """Return the start of the next data, or the end of the file if there are none."""
    try:
        return os.lseek(descriptor, start, os.SEEK_DATA)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return os.fstat(descriptor).st_size


def _copy_range(reader: int, writer: int, start: int, end: int) -> None:
    os.lseek(writer, start, os.SEEK_SET)
    offset = start
    while offset < end:
        done = os.sendfile(writer, reader, offset, min(_CHUNK_BYTES, end - offset))
        if done == 0:  # the file was truncated in the meantime
            raise OSError(errno.EIO, "the file was truncated while it was copied")
        offset += done
