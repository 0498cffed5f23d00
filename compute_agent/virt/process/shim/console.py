"""Output of a workload, kept within a limit."""

import contextlib
import os
from pathlib import Path


class Console:
    """The workload's output in two files, a newer and an older one, of half the limit each."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._half = max_bytes // 2
        self._is_at_line_start = True
        self._open()

    def note(self, text: str) -> None:
        """Write a line from the shim itself."""
        start = b"" if self._is_at_line_start else b"\n"
        self.write(start + f"[armillary] {text}\n".encode())

    def write(self, data: bytes) -> None:
        if data:
            self._is_at_line_start = data.endswith(b"\n")
        for first in range(0, len(data), self._half):
            self._write(data[first : first + self._half])

    def _write(self, data: bytes) -> None:
        if self._size and self._size + len(data) > self._half:
            os.close(self._fd)
            self._path.replace(self._path.with_name(self._path.name + ".1"))
            self._open()
        with contextlib.suppress(OSError):  # a full disk must not stop the workload
            self._size += os.write(self._fd, data)

    def open_again(self) -> None:
        """Go on in a new file."""
        os.close(self._fd)
        self._open()

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(self._path, flags, 0o600)
        self._size = os.fstat(self._fd).st_size
