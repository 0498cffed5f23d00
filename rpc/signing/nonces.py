"""Replay protection: a log of nonces that rejects repeated messages, also after a restart.

One directory holds the nonces of one queue. All its consumers on a machine append to the same
files, under a lock, so that a replay to another process is detected, too. A file holds nonces of
messages *sent* in one time window, and is deleted once all of them are too old to be accepted.
Entries survive the process but not a crash of the machine: fsync would cost a hundred times as much
as the signature. After such a crash, messages of the last window could be replayed; they are then
handled like any message that is delivered twice.
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
from pathlib import Path

from armillary import private_files

LOG = logging.getLogger(__name__)

NONCE_BYTES = 16


class NonceLog:
    """Nonces of one queue within a window of seconds."""

    def __init__(self, directory: Path, window_seconds: float) -> None:
        """Open the directory, creating it if missing. Raises OSError."""
        private_files.make_directory(directory)
        self._directory = directory
        self._span = max(1.0, window_seconds)
        self._slots: dict[int, _Slot] = {}
        self._lock = threading.Lock()

    def is_new(self, nonce: bytes, sent_at: float) -> bool:
        """Store a nonce (16 bytes); return False if it was stored before. Raises OSError."""
        number = int(sent_at // self._span)
        with self._lock:
            slot = self._slots.get(number)
            if slot is None:
                slot = self._open(number)
            return slot.add(nonce)

    def _open(self, number: int) -> _Slot:
        self._drop_before(number - 2)
        slot = self._slots[number] = _Slot(self._directory / f"{number}.nonces")
        return slot

    def _drop_before(self, oldest: int) -> None:
        """Delete files that are too old for any message to be accepted."""
        for path in self._directory.glob("*.nonces"):
            if path.stem.isdecimal() and int(path.stem) < oldest:
                path.unlink(missing_ok=True)
        for number in [number for number in self._slots if number < oldest]:
            self._slots.pop(number).close()


class _Slot:
    """One file and its contents in memory."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._read_bytes = 0
        self._seen: set[bytes] = set()

    def add(self, nonce: bytes) -> bool:
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            self._catch_up()
            if nonce in self._seen:
                return False
            self._append(nonce)
            return True
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _append(self, nonce: bytes) -> None:
        """Store a nonce here and in the file; a full disk must not stop the service."""
        self._seen.add(nonce)
        try:
            if os.write(self._file, nonce) == NONCE_BYTES:
                self._read_bytes += NONCE_BYTES
                return
            os.ftruncate(self._file, self._read_bytes)  # remove the partial write
        except OSError as error:
            LOG.warning("Cannot store a nonce; it is lost on restart: %s", error.strerror)

    def _catch_up(self) -> None:
        """Read what other processes, or this one before its restart, appended."""
        found = os.fstat(self._file).st_size
        size = found - found % NONCE_BYTES
        if size != found:  # partial write by a process that was killed
            os.ftruncate(self._file, size)
        while self._read_bytes < size:
            chunk = os.pread(self._file, size - self._read_bytes, self._read_bytes)
            if not chunk:
                return
            self._seen.update(
                chunk[at : at + NONCE_BYTES] for at in range(0, len(chunk), NONCE_BYTES)
            )
            self._read_bytes += len(chunk)

    def close(self) -> None:
        os.close(self._file)
