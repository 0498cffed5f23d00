"""SQLite for several threads and processes: WAL mode, serialised writers, non-blocking readers.

A SQLite transaction that reads first and writes later can fail at any time with "database is
locked". So a writer takes the write lock when it begins (BEGIN IMMEDIATE). Within the process it
first queues on a fair lock, since SQLite's own waiting is neither fair nor compatible with green
threads.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any
from weakref import WeakSet, WeakValueDictionary

import sqlalchemy
from oslo_db.sqlalchemy import exc_filters
from sqlalchemy import Connection, Engine, event, exc, pool
from sqlalchemy.engine import URL

from armillary.files import private_files

WRITE_OPTION = "armillary_write"  # execution option of the engine for writers

# One lock per file: two Databases of this process may use the same one.
_locks: WeakValueDictionary[str, WriterLock] = WeakValueDictionary()
_locks_guard = threading.Lock()


class WriterLock:
    """Write lock of one SQLite file within this process; not reentrant."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None

    def __enter__(self) -> None:
        if self._owner == threading.get_ident():
            raise RuntimeError("a writer was opened inside another writer of the same database")
        self._lock.acquire()
        self._owner = threading.get_ident()

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._owner = None
        self._lock.release()


class _Connection(sqlite3.Connection):
    """A connection whose transactions end even if a cursor was not read to its end.

    For SQLite a transaction lasts as long as such a cursor, also after a rollback: the next reader
    from the pool would see the database as it was then.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._cursors = WeakSet[sqlite3.Cursor]()

    def cursor(self, factory: Any = sqlite3.Cursor) -> Any:
        made = super().cursor(factory)
        self._cursors.add(made)
        return made

    def close_cursors(self) -> None:
        """Close all cursors, which may be kept by the traceback of an error."""
        for cursor in list(self._cursors):
            cursor.close()
        self._cursors.clear()


def writer_lock(url: URL) -> WriterLock:
    """Return the lock of the file, shared by every ``Database`` of this process that uses it."""
    path = str(Path(url.database or "").resolve())
    with _locks_guard:
        lock = _locks.get(path)
        if lock is None:
            lock = _locks[path] = WriterLock()
        return lock


def create_engine(
    url: URL, *, busy_timeout_seconds: int, pool_size: int, max_overflow: int, pool_timeout: int
) -> Engine:
    """Return an engine for a file, creating its directory; rejects an in-memory database.

    Connections stay open in a pool (oslo.db would open one per transaction): closing the last
    connection of a file makes SQLite checkpoint the write-ahead log each time.
    """
    if not url.database or url.database == ":memory:" or "mode=memory" in str(url):
        raise exc.ArgumentError("SQLite needs a file: sqlite:////path/to/file")
    private_files.make_directory(Path(url.database).parent)
    engine = sqlalchemy.create_engine(
        url,
        poolclass=pool.QueuePool,
        pool_size=pool_size,
        max_overflow=max_overflow,
        pool_timeout=pool_timeout,
        connect_args={
            "timeout": busy_timeout_seconds, "check_same_thread": False, "factory": _Connection,
        },
    )  # fmt: skip
    exc_filters.register_engine(engine)
    event.listen(engine, "do_connect", lambda *_: _make_private(Path(str(url.database))))
    event.listen(engine, "connect", lambda raw, _record: _prepare(raw, busy_timeout_seconds))
    event.listen(engine, "begin", _begin)
    event.listen(engine, "reset", lambda raw, _record, _state: raw.close_cursors())
    return engine


def set_foreign_keys(connection: Connection, *, is_on: bool) -> None:
    """Turn the foreign key checks of a connection on or off, outside a transaction."""
    raw = connection.connection.dbapi_connection
    assert raw is not None
    with closing(raw.cursor()) as cursor:
        cursor.execute(f"PRAGMA foreign_keys = {'ON' if is_on else 'OFF'}")


def _make_private(path: Path) -> None:
    with contextlib.suppress(OSError):  # connecting reports it
        private_files.prepare_sqlite(path)


def _prepare(raw: Any, busy_timeout_seconds: int) -> None:
    # otherwise the driver begins transactions itself, but not all of them
    raw.isolation_level = None
    _use_wal(raw, time.monotonic() + busy_timeout_seconds)
    raw.execute("PRAGMA synchronous = NORMAL")  # survives kill -9; power loss may cost commits
    raw.execute("PRAGMA foreign_keys = ON")


def _use_wal(raw: Any, deadline: float) -> None:
    """Switch the file to WAL; SQLite does not wait for another process that does the same."""
    while True:
        try:
            raw.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _begin(connection: Connection) -> None:
    if connection.get_execution_options().get(WRITE_OPTION, False):
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        return
    raw = connection.connection.dbapi_connection
    assert raw is not None
    raw.execute("BEGIN")  # takes no lock: no error that SQLAlchemy would have to handle
