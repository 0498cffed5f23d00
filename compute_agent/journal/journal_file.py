"""The journal's SQLite file: exclusive ownership, integrity check and transactions."""

import contextlib
import logging
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from armillary import exception
from armillary.files import private_files
from armillary.logs.outage_log import OutageLog

LOG = logging.getLogger(__name__)

BUSY_TIMEOUT_SECONDS = 30.0
ROOM_BYTES_MIN = 1024**2
"""Minimum free disk space. SQLite alone needs about 70 KiB to start writing."""
_DISK_ERRORS = (
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN,
)  # fmt: skip
_PRIMARY_CODE = 0xFF
"""Bits of an extended result code that say what kind of error it is."""


class JournalFile:
    """A SQLite file. Thread-safe.

    Not every transaction is fsynced (WAL, synchronous=NORMAL). Nothing is lost if the process is
    killed. After a power failure the last transactions may be lost, but the guests are gone then,
    too, and the agent reconciles with its conductor at startup.
    """

    def __init__(self, path: str | Path, clock: Callable[[], float] = time.time) -> None:
        self._path = Path(path)
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._owner_fd: int | None = None
        self._serial = 0
        self._outage = OutageLog(LOG, f"The journal {self._path}")

    def open(self) -> None:
        """Open or create the file. Raises JournalCorrupt, ConfigurationError if it is in use."""
        try:
            private_files.make_directory(self._path.parent)
            self._check_room()
            self._lock_file()
            self._connection = self._connect()
            self._serial = self._last_serial(self._connection)
            self._read_all(self._connection.cursor())
        except exception.ArmillaryError:
            self.close()
            raise
        except Exception as error:  # from SQLite, the system, or an unreadable object
            self.close()
            self._check_room()  # the disk may have filled up since the first check
            raise self._corrupt(error) from error

    def close(self) -> None:
        """Close the file; everything is already saved."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            if self._owner_fd is not None:
                os.close(self._owner_fd)
                self._owner_fd = None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Cursor]:
        """Yield a cursor; commit at the end of the block, roll back on an exception.

        Raises JournalUnwritable while the disk takes no writes, as when it is full. That is logged
        here, once: callers need not.
        """
        with self._lock:
            if self._connection is None:
                raise exception.Unavailable(reason="the journal is closed")
            changes = self._connection.total_changes
            try:
                with _committed(self._connection) as cursor:
                    yield cursor
            except sqlite3.Error as error:
                if not _is_of_the_disk(error):
                    raise
                self._outage.failed(error)
                facts = {"path": str(self._path), "reason": str(error)}
                raise exception.JournalUnwritable(**facts) from error
            if self._connection.total_changes > changes:  # an empty one says nothing of the disk
                self._outage.succeeded()

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Cursor]:
        """Yield a cursor for a single read-only statement, without a transaction."""
        with self._lock:
            if self._connection is None:
                raise exception.Unavailable(reason="the journal is closed")
            cursor = self._connection.cursor()
            try:
                yield cursor
            finally:
                cursor.close()

    def _check_room(self) -> None:
        """Raise JournalDiskFull if the first commands could not be recorded."""
        free = shutil.disk_usage(self._path.parent).free
        if free < ROOM_BYTES_MIN:
            raise exception.JournalDiskFull(
                path=str(self._path), free_kib=free // 1024, needed_kib=ROOM_BYTES_MIN // 1024
            )

    def _lock_file(self) -> None:
        """Lock the journal for as long as this process has it open."""
        path = self._path.with_name(self._path.name + ".lock")
        try:
            self._owner_fd = private_files.lock(path)
        except BlockingIOError as error:
            raise exception.ConfigurationError(
                reason=f"another agent uses the journal {self._path}; give each agent its own "
                "state_path or [compute] journal"
            ) from error

    def _connect(self) -> sqlite3.Connection:
        private_files.prepare_sqlite(self._path)
        connection = sqlite3.connect(
            self._path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            self._check(connection)
            upgrade(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _read_all(self, cursor: sqlite3.Cursor) -> None:
        """Decode each row, since SQLite's integrity check does not. May raise anything."""

    def _last_serial(self, connection: sqlite3.Connection) -> int:
        return int(connection.execute("SELECT coalesce(max(serial), 0) FROM fences").fetchone()[0])

    def _check(self, connection: sqlite3.Connection) -> None:
        problem = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if problem != "ok":
            raise exception.JournalCorrupt(path=str(self._path), reason=problem)
        version = version_of(connection)
        if version > len(STEPS):
            raise exception.JournalCorrupt(
                path=str(self._path), reason=f"it was written by a newer release, schema {version}"
            )

    def _corrupt(self, error: Exception) -> exception.JournalCorrupt:
        facts = {"path": str(self._path), "reason": f"{type(error).__name__}: {error}"}
        if isinstance(error, PermissionError) or "readonly" in str(error):
            return exception.JournalCorrupt(
                f"The journal {self._path} is not writable ({facts['reason']}). Give its "
                "directory and files to the agent's user, or change [compute] journal.",
                **facts,
            )
        return exception.JournalCorrupt(**facts)


@contextlib.contextmanager
def _committed(connection: sqlite3.Connection) -> Iterator[sqlite3.Cursor]:
    cursor = connection.cursor()
    try:
        cursor.execute("BEGIN IMMEDIATE")
        yield cursor
        cursor.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite rolls back by itself on some errors of the disk
            cursor.execute("ROLLBACK")
        raise
    finally:
        cursor.close()


def _is_of_the_disk(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", None)  # absent from what Python itself raises
    return code is not None and code & _PRIMARY_CODE in _DISK_ERRORS


_TABLES = (
    """
CREATE TABLE instances (
    host TEXT NOT NULL,
    uuid TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN
        ('building', 'running', 'deleting', 'ended', 'arriving', 'leaving')),
    is_claimed INTEGER NOT NULL DEFAULT 0,
    is_dirty INTEGER NOT NULL DEFAULT 0,
    is_silent INTEGER NOT NULL DEFAULT 0,
    exit_code INTEGER,
    vcpus INTEGER NOT NULL DEFAULT 0,
    memory_mb INTEGER NOT NULL DEFAULT 0,
    disk_gb INTEGER NOT NULL DEFAULT 0,
    project_id TEXT,
    os_type TEXT,
    group_uuid TEXT,
    request_id TEXT,
    instance TEXT,
    request_spec TEXT,
    flavor_id TEXT,
    image_pairs TEXT,
    place_wanted TEXT,
    place TEXT,
    former_place TEXT,
    PRIMARY KEY (host, uuid)
) STRICT, WITHOUT ROWID
""",
    """
CREATE TABLE commands (
    host TEXT NOT NULL,
    uuid TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    body TEXT NOT NULL,
    is_done INTEGER NOT NULL DEFAULT 0,
    is_aborted INTEGER NOT NULL DEFAULT 0,
    result TEXT,
    PRIMARY KEY (host, uuid)
) STRICT, WITHOUT ROWID
""",
    """
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    host TEXT NOT NULL,
    uuid TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    request_id TEXT,
    result TEXT NOT NULL,
    UNIQUE (host, uuid, attempt, kind)
) STRICT
""",
    "CREATE INDEX outbox_uuid ON outbox (uuid)",
    """
CREATE TABLE fences (
    uuid TEXT PRIMARY KEY,
    seen INTEGER NOT NULL,
    closed INTEGER NOT NULL,
    serial INTEGER NOT NULL,
    touched_at REAL NOT NULL
) STRICT, WITHOUT ROWID
""",
    """
CREATE TABLE hosts (
    host TEXT PRIMARY KEY,
    failed_builds INTEGER NOT NULL
) STRICT, WITHOUT ROWID
""",
)

_RUNS = (
    """
CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    place TEXT NOT NULL
) STRICT
""",
)

_HELD = (
    """
CREATE TABLE held (
    host TEXT NOT NULL,
    uuid TEXT NOT NULL,
    PRIMARY KEY (host, uuid)
) STRICT, WITHOUT ROWID
""",
)

_FORCED = ("ALTER TABLE commands ADD COLUMN is_forced INTEGER NOT NULL DEFAULT 0",)

STEPS: tuple[tuple[str, ...], ...] = (_TABLES, _RUNS, _HELD, _FORCED)
"""Statements of each version. A released version never changes; a later one only adds."""


def version_of(connection: sqlite3.Connection) -> int:
    """Return the schema version of a file, 0 if it is new."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def upgrade(connection: sqlite3.Connection) -> None:
    """Bring a file to the newest version. Raises sqlite3.Error.

    The statements of a version are committed together with its number, so that an agent that is
    killed in between repeats them at its next start.
    """
    present = version_of(connection)
    for number, statements in enumerate(STEPS[present:], present + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
