"""Console output of a workload: the last lines of the files that its shim writes."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from compute_agent.virt.instance_directories import open_own

NEWER, OLDER = "console.log", "console.log.1"
OUTPUT_BYTES_MAX = 512 * 1024
"""Maximum number of bytes to return, because they are sent in one message."""
LAST_LINE_CHARS_MAX = 200
LAST_LINE_READ_BYTES = 8192


def console_output(directory: Path, lines: int | None) -> str:
    """Return the last lines, or all that is kept, but at most the last 512 KiB."""
    data = _tail(directory, OUTPUT_BYTES_MAX + 1)
    if len(data) > OUTPUT_BYTES_MAX:
        data = data[-OUTPUT_BYTES_MAX:]
        data = data[data.find(b"\n") + 1 :]  # start at a full line and character
    text = data.decode("utf-8", "replace")
    if lines is None:
        return text
    kept = text.splitlines(keepends=True)
    return "".join(kept[max(0, len(kept) - lines) :])


def last_line(directory: Path) -> str:
    """Return the last non-empty line, printable and truncated; empty if there is none."""
    text = _tail(directory, LAST_LINE_READ_BYTES).decode("utf-8", "replace")
    for line in reversed(text.split("\n")):
        if printable := "".join(filter(str.isprintable, line)).strip():
            return printable[:LAST_LINE_CHARS_MAX]
    return ""


def _tail(directory: Path, bytes_max: int) -> bytes:
    """Return the last bytes of both files together.

    The newer one is opened first: if it is rotated at that moment, it is not read twice.
    """
    data = b""
    seen: set[int] = set()
    for name in (NEWER, OLDER):
        for file in _opened(directory / name):
            inode = os.fstat(file.fileno()).st_ino
            if inode not in seen and len(data) < bytes_max:
                seen.add(inode)
                wanted = bytes_max - len(data)
                file.seek(max(0, file.seek(0, os.SEEK_END) - wanted))
                data = file.read(wanted) + data
    return data


def _opened(path: Path) -> Iterator[BinaryIO]:
    with contextlib.suppress(FileNotFoundError), open_own(path) as file:
        yield file
