"""Block devices of the host, as files: their size, and zeros on them."""

import fcntl
import os
import struct
from pathlib import Path

_BLKZEROOUT = 0x127F
_STEP_BYTES = 1024**3
"""Maximum number of bytes of one request to the kernel, which cannot be interrupted."""


def size(path: Path) -> int:
    """Return the size of a device in bytes. Raises OSError."""
    with path.open("rb") as device:
        return device.seek(0, os.SEEK_END)


def write_zeros(path: Path, start: int = 0) -> None:
    """Overwrite a device from ``start`` to its end with zeros, by itself where it can do so.

    Raises OSError.
    """
    with path.open("r+b", buffering=0) as device:
        end = device.seek(0, os.SEEK_END)
        for offset in range(start, end, _STEP_BYTES):
            extent = struct.pack("QQ", offset, min(_STEP_BYTES, end - offset))
            fcntl.ioctl(device.fileno(), _BLKZEROOUT, extent)
        os.fsync(device.fileno())
