"""The lease of a host's workloads: a file that their supervisors read (``Lease``)."""

import contextlib
import fcntl
import json
import os
from pathlib import Path

FILE_NAME = "lease.json"
CONTENT_BYTES = 80
"""The content always has this length, so that one write replaces it as a whole."""


class LeaseFile:
    """Written by the agent, which holds its lock for as long as its process lives."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE_NAME
        self._file: int | None = None

    def extend(self, until: float, *, is_strict: bool) -> None:
        """Store until when workloads may run. Raises OSError."""
        content = json.dumps({"until": round(until, 2), "is_strict": is_strict})
        data = content.ljust(CONTENT_BYTES).encode("ascii")
        if self._file is not None and self._is_lost(self._file):
            self.close()
        file = self._file
        if file is None:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.pwrite(file, data, 0)
        if self._file is None:  # locked only now: a lock says that the content is this agent's
            fcntl.flock(file, fcntl.LOCK_EX)  # supervisors only probe it briefly
            self._file = file

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _is_lost(self, file: int) -> bool:
        with contextlib.suppress(FileNotFoundError):
            return not os.path.samestat(self.path.stat(), os.fstat(file))
        return True
