"""Replay protection: a log of nonces that rejects repeated messages, also after a restart.

One directory holds the nonces of one queue. All its consumers on a machine append to the same
files, under a lock, so that a replay to another process is detected, too. A file holds nonces of
messages *sent* in one time window, and is deleted once all of them are too old to be accepted.
Entries survive the process but not a crash of the machine: fsync would cost a hundred times as much
as the signature. After such a crash, messages of the last window could be replayed; they are then
handled like any message that is delivered twice.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import threading
from pathlib import Path

from armillary.files import private_files
from armillary.logs.outage_log import OutageLog

NONCE_BYTES = 16


class NonceLog:
    """Nonces of one queue within a window of seconds.

    Without its directory, or on a full disk, it remembers nonces in memory alone: a service
    continues, and ``outage`` says so.
    """

    def __init__(self, directory: Path, window_seconds: float, outage: OutageLog) -> None:
        self._directory = directory
        self._span = max(1.0, window_seconds)
        self._outage = outage
        self._slots: dict[int, _Slot] = {}
        self._lock = threading.Lock()

    def is_new(self, nonce: bytes, sent_at: float) -> bool:
        """Store a nonce (16 bytes); return False if it was stored before."""
        number = int(sent_at // self._span)
        with self._lock:
            slot = self._slots.get(number)
            if slot is None:
                slot = self._add_slot(number)
            return slot.add(nonce)

    def _add_slot(self, number: int) -> _Slot:
        self._drop_before(number - 2)
        path = self._directory / f"{number}.nonces"
        slot = self._slots[number] = _Slot(path, self._outage)
        return slot

    def _drop_before(self, oldest: int) -> None:
        """Delete files that are too old for any message to be accepted."""
        for number in [number for number in self._slots if number < oldest]:
            self._slots.pop(number).close()
        with contextlib.suppress(OSError):  # the next slot has another try
            for path in self._directory.glob("*.nonces"):
                if path.stem.isdecimal() and int(path.stem) < oldest:
                    path.unlink(missing_ok=True)


class _Slot:
    """One file and its contents in memory."""

    def __init__(self, path: Path, outage: OutageLog) -> None:
        self._path = path
        self._outage = outage
        self._file: int | None = None
        self._read_bytes = 0
        self._seen: set[bytes] = set()

    def add(self, nonce: bytes) -> bool:
        """Store a nonce, in memory alone if the file cannot take it; return whether it is new."""
        try:
            is_new = self._add_to_file(nonce)
        except OSError as error:
            self._outage.failed(error.strerror)
            is_new = nonce not in self._seen
            self._seen.add(nonce)
        else:
            self._outage.succeeded()
        return is_new

    def _add_to_file(self, nonce: bytes) -> bool:
        """Return whether a nonce is new, and append it if so. Raises OSError."""
        if self._file is None:
            self._file = self._open()
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            self._catch_up(self._file)
            if nonce in self._seen:
                return False
            self._append(self._file, nonce)
            self._seen.add(nonce)
            return True
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _open(self) -> int:
        private_files.make_directory(self._path.parent)
        return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def _append(self, file: int, nonce: bytes) -> None:
        if os.write(file, nonce) != NONCE_BYTES:
            os.ftruncate(file, self._read_bytes)  # remove the partial write
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._read_bytes += NONCE_BYTES

    def _catch_up(self, file: int) -> None:
        """Read what other processes, or this one before its restart, appended."""
        found = os.fstat(file).st_size
        size = found - found % NONCE_BYTES
        if size != found:  # partial write by a process that was killed
            os.ftruncate(file, size)
        while self._read_bytes < size:
            chunk = os.pread(file, size - self._read_bytes, self._read_bytes)
            if not chunk:
                return
            self._seen.update(
                chunk[at : at + NONCE_BYTES] for at in range(0, len(chunk), NONCE_BYTES)
            )
            self._read_bytes += len(chunk)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
