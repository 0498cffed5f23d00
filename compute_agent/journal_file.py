"""The file of the journal: opened by one agent alone, checked, and written in transactions."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from armillary import exception
from compute_agent import journal_schema

BUSY_TIMEOUT_SECONDS = 30.0
ROOM_BYTES_MIN = 1024**2
"""Less room than this is a full disk: SQLite alone needs some 70 KiB to begin to write."""


class JournalFile:
    """A SQLite file; safe to use from several threads.

    Not fsynced at every step (WAL, synchronous=NORMAL): nothing is lost when the process is killed.
    When the machine loses power the last steps may be, but then its guests are gone, too, and the
    agent and its conductor compare notes at start.
    """

    def __init__(self, path: str | Path, clock: Callable[[], float] = time.time) -> None:
        self._path = Path(path)
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._owner_fd: int | None = None
        self._serial = 0

    def open(self) -> None:
        """Open or make it. Raises JournalCorrupt with the way out, ConfigurationError if used."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._check_room()
            self._become_owner()
            self._connection = self._connect()
            self._serial = self._last_serial(self._connection)
        except exception.ArmillaryError:
            self.close()
            raise
        except Exception as error:  # of SQLite, of the system, of an object that cannot be read
            self.close()
            self._check_room()  # it may have been taken since
            raise self._corrupt(error) from error

    def close(self) -> None:
        """Let go of the file; nothing is unsaved."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            if self._owner_fd is not None:
                os.close(self._owner_fd)
                self._owner_fd = None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Cursor]:
        """Lend a cursor; all is written when the block ends, nothing when it raises."""
        with self._lock:
            if self._connection is None:
                raise exception.Unavailable(reason="the journal is closed")
            cursor = self._connection.cursor()
            cursor.execute("BEGIN IMMEDIATE")
            try:
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    cursor.execute("ROLLBACK")
                raise
            finally:
                cursor.close()

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Cursor]:
        """Lend a cursor for one statement that only reads: it needs no transaction around it."""
        with self._lock:
            if self._connection is None:
                raise exception.Unavailable(reason="the journal is closed")
            cursor = self._connection.cursor()
            try:
                yield cursor
            finally:
                cursor.close()

    def _check_room(self) -> None:
        """Raise JournalDiskFull where the first orders could not be written down."""
        free = shutil.disk_usage(self._path.parent).free
        if free < ROOM_BYTES_MIN:
            raise exception.JournalDiskFull(
                path=str(self._path), free_kib=free // 1024, needed_kib=ROOM_BYTES_MIN // 1024
            )

    def _become_owner(self) -> None:
        """Hold a lock for as long as this process lives and has the journal open."""
        path = self._path.with_name(self._path.name + ".lock")
        self._owner_fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._owner_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise exception.ConfigurationError(
                reason=f"another agent uses the journal {self._path}; give each agent a "
                "state_path, or a [compute] journal, of its own"
            ) from error

    def _connect(self) -> sqlite3.Connection:
        self._path.touch(0o600)  # before SQLite does, which gives the files beside it the same mode
        connection = sqlite3.connect(
            self._path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            self._check(connection)
            journal_schema.bring_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _last_serial(self, connection: sqlite3.Connection) -> int:
        return int(connection.execute("SELECT coalesce(max(serial), 0) FROM fences").fetchone()[0])

    def _check(self, connection: sqlite3.Connection) -> None:
        problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if problem != "ok":
            raise exception.JournalCorrupt(path=str(self._path), reason=problem)
        version = journal_schema.version_of(connection)
        if version > journal_schema.SCHEMA_VERSION:
            raise exception.JournalCorrupt(
                path=str(self._path), reason=f"a newer release wrote it, version {version}"
            )

    def _corrupt(self, error: Exception) -> exception.JournalCorrupt:
        facts = {"path": str(self._path), "reason": f"{type(error).__name__}: {error}"}
        if isinstance(error, PermissionError) or "readonly" in str(error):
            return exception.JournalCorrupt(
                f"The journal {self._path} cannot be written ({facts['reason']}). Give its "
                "directory and files to the agent's user, or set [compute] journal elsewhere.",
                **facts,
            )
        return exception.JournalCorrupt(**facts)
