"""Database access for its owner: sessions, retries, and waiting for availability."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Concatenate, ParamSpec, TypeVar

from oslo_db import exception as oslo_exception
from sqlalchemy import Engine, event, exc, text
from sqlalchemy.orm import ORMExecuteState, Session

from armillary import exception
from armillary.backoff import Backoff
from armillary.db import engines, errors, schema, sqlite
from armillary.db.async_queries import AsyncQueries, AsyncQuery
from armillary.db.engines import DatabaseOptions as DatabaseOptions
from armillary.db.single_row_queries import SingleRowQueries
from armillary.logs.line_budget import BoundedLog
from armillary.logs.masking import mask_passwords
from armillary.logs.outage_log import OutageLog

LOG = logging.getLogger(__name__)
_REFUSED = BoundedLog(LOG)

RETRY_BACKOFF = Backoff(0.05, 2.0, jitter=0.5)
"""Backoff of transactions after transient errors."""
OUTAGE_BACKOFF = Backoff(1.0, 30.0, jitter=0.2)
"""Backoff while the database does not respond at all."""

P = ParamSpec("P")
T = TypeVar("T")

_COMMIT_CALLBACKS = "armillary_noted"
"""Session key of the callbacks to run after the commit."""


def note(session: Session, tell: Callable[[Any], None]) -> None:
    """Have ``tell`` called with the database's listener once the session is committed.

    Without a listener, and after a rollback, it is not called. ``tell`` must not raise.
    """
    session.info.setdefault(_COMMIT_CALLBACKS, []).append(tell)


_ERRORS = (exc.SQLAlchemyError, oslo_exception.DBError)
_ERRORS_OF_VALUES = (ValueError, OverflowError, oslo_exception.DBInvalidUnicodeParameter)


class ReaderSession(Session):
    """A session that rejects changes, since they would be lost."""

    def flush(self, objects: Any = None) -> None:
        if self.new or self.dirty or self.deleted:
            raise RuntimeError("a reader session holds changes; use writer()")
        super().flush(objects)


@event.listens_for(ReaderSession, "do_orm_execute")
def _refuse_writes(state: ORMExecuteState) -> None:
    if state.is_insert or state.is_update or state.is_delete:
        raise RuntimeError("a reader session was asked to write; use writer()")


class Database:
    """A database, given by URL. It connects on first use, in the process that uses it.

    Sessions are SQLAlchemy's; objects stay usable after the commit. Errors are those of SQLAlchemy
    and oslo.db (``DBDuplicateEntry`` and the like), except ``DatabaseUnavailable`` when the
    database is out of reach, read-only or full, or when others held a lock for too long, and
    ``Invalid`` for a value that no column can store.
    """

    def __init__(
        self, connection: str, *, name: str, options: DatabaseOptions | None = None
    ) -> None:
        self.name = name
        self.url = engines.parse_url(connection, name)
        self.options = options or DatabaseOptions()
        self._engine: Engine | None = None
        self._writers: Engine | None = None
        self._peeks: SingleRowQueries | None = None
        self._ahead: AsyncQueries | None = None
        self._inherited: list[object] = []  # of a process before its fork: must not be closed here
        self._engine_pid = 0
        self._engine_guard = threading.Lock()
        self._file_lock: sqlite.WriterLock | None = None
        self._listener: Any = None
        self._outage = OutageLog(LOG, f"The {self}")
        self._exhaustion = OutageLog(LOG, f"A connection in the pool of the {self}")
        self._is_away = False

    @classmethod
    def from_conf(cls, section: Any, name: str) -> Database:
        """Create a database from an option group such as ``conf.placement_database``."""
        options = DatabaseOptions(
            max_pool_size=section.max_pool_size,
            max_overflow=section.max_overflow,
            pool_timeout_seconds=section.pool_timeout,
            connection_recycle_seconds=section.connection_recycle_time,
            max_retries=section.max_retries,
            sqlite_busy_timeout_seconds=section.sqlite_busy_timeout,
        )
        return cls(section.connection, name=name, options=options)

    def __str__(self) -> str:
        return f"{self.name} database ({self.url.render_as_string(hide_password=True)})"

    @property
    def dialect(self) -> str:
        """``sqlite``, ``postgresql`` or ``mysql`` (MariaDB, too)."""
        return self.url.get_backend_name()

    @property
    def engine(self) -> Engine:
        """The engine of this process; a fork has its own, connections are not shared."""
        with self._engine_guard:
            if self._engine is not None and self._engine_pid != os.getpid():
                self._engine.dispose(close=False)
                self._inherited += [self._peeks, self._ahead]
                self._engine = None
            if self._engine is None:
                self._engine = engines.create_engine(self.url, self.options, self.name)
                self._writers = self._engine.execution_options(**{sqlite.WRITE_OPTION: True})
                self._peeks = SingleRowQueries(self._engine)
                self._ahead = AsyncQueries(self._engine) if self.supports_async_queries else None
                self._engine_pid = os.getpid()
            return self._engine

    def dispose(self) -> None:
        """Close idle connections; the next session opens new ones."""
        with self._engine_guard:
            if self._engine is not None and self._engine_pid == os.getpid():
                if self._peeks is not None:
                    self._peeks.close()
                if self._ahead is not None:
                    self._ahead.close()
                self._engine.dispose()
            self._engine = None

    def tell(self, listener: Any) -> None:
        """Set the listener passed to the callbacks of ``note`` from now on."""
        self._listener = listener

    @contextlib.contextmanager
    def reader(self) -> Iterator[Session]:
        """Open a read-only transaction; an attempt to write raises ``RuntimeError``."""
        with self._translated(), ReaderSession(self.engine, expire_on_commit=False) as session:
            yield session

    def read(
        self, fn: Callable[Concatenate[Session, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return ``fn(session, *args, **kwargs)`` in a read-only transaction."""
        with self.reader() as session:
            return fn(session, *args, **kwargs)

    def peek(self, statement: str) -> tuple[Any, ...]:
        """Return the only row of a query without parameters, as of the last commit.

        It takes one message, where a reader session takes several. Raises ``DatabaseUnavailable``.
        """
        with self._translated():
            if self.dialect == "sqlite":  # no server, hence nothing to save
                with ReaderSession(self.engine) as session:
                    return session.connection().exec_driver_sql(statement).one()
            engine = self.engine
            assert self._peeks is not None, f"{engine} is there"
            return self._peeks.one(statement)

    @property
    def supports_async_queries(self) -> bool:
        """Whether ``start_query`` is supported."""
        return self.dialect == "postgresql"

    def start_query(self, statement: str) -> AsyncQuery | None:
        """Start the query of ``peek`` without waiting; None if unsupported or failed.

        The caller takes or drops the result. Never raises: ``peek`` reports errors.
        """
        if self.engine is None or self._ahead is None:
            return None
        return self._ahead.ask(statement)

    @contextlib.contextmanager
    def writer(self) -> Iterator[Session]:
        """Open a transaction that is committed at the end, or rolled back on any error.

        Not retried: services use ``run_in_writer``. Writers of one database must not be nested.
        """
        with self._translated(), self._writer() as session:
            yield session

    def run_in_writer(
        self, fn: Callable[Concatenate[Session, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return ``fn(session, *args, **kwargs)``, committed; retry on transient errors.

        After a deadlock, a serialisation failure, a lost connection or a full disk, ``fn`` runs
        again in a new transaction, at most ``max_retries`` times, with an exponential backoff. If
        the connection was lost during the commit, the transaction may have been committed: ``fn``
        must be idempotent. Raises ``DatabaseUnavailable`` when the retries are used up.
        """
        for attempt in range(self.options.max_retries + 1):
            try:
                with self._writer() as session:
                    return fn(session, *args, **kwargs)
            except _ERRORS_OF_VALUES as error:
                self._refuse_value(error)
                raise
            except _ERRORS as error:
                self._refuse_value(error)
                is_retried = errors.is_transient(error) or errors.is_unavailable(error)
                self._leave_standby(error)
                if not is_retried and not errors.is_exhausted_pool(error):
                    raise
                if not is_retried or attempt == self.options.max_retries:
                    raise self._unavailable(error) from error
                LOG.debug(
                    "%s: attempt %d failed: %s", self.name, attempt + 1, mask_passwords(error)
                )
            time.sleep(RETRY_BACKOFF.seconds(attempt))
        raise AssertionError("unreachable: the last attempt returns or raises")

    def insert_in_writer(
        self, fn: Callable[Concatenate[Session, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """As ``run_in_writer``; runs ``fn`` again if another transaction inserted its rows first.

        The second time ``fn`` finds those rows. Raises a second ``DBDuplicateEntry``.
        """
        try:
            return self.run_in_writer(fn, *args, **kwargs)
        except oslo_exception.DBDuplicateEntry:
            return self.run_in_writer(fn, *args, **kwargs)

    def wait_until_available(self, stop_event: threading.Event) -> bool:
        """Return True when the database responds, or False when ``stop_event`` is set first.

        Retries with a backoff from 1 to 30 s; logs the outage once, then once a minute, then the
        recovery.
        """
        for attempt in itertools.count():
            if stop_event.is_set():
                return False
            if self._error_of_ping() is None:
                return True
            stop_event.wait(OUTAGE_BACKOFF.seconds(attempt))
        raise AssertionError("unreachable: the loop has no end")

    def ping(self) -> None:
        """Ping the database; raise ``DatabaseUnavailable`` if it does not respond."""
        with self._translated(), self.engine.connect() as connection:
            connection.execute(text("SELECT 1"))

    def sync(self, schema_package: str) -> str:
        """Migrate the tables to the newest version, and return it.

        ``schema_package`` is a package such as ``placement.db.schema``: it has a folder
        ``versions`` and names the ``VERSION_TABLE`` of its tables.
        Concurrent calls of several processes are serialised. Raises ``ConfigurationError`` when the
        database is newer than this release.
        """
        with self._translated():
            return schema.sync(self.engine, self._write_engine, schema_package)

    def current_version(self, schema_package: str) -> str | None:
        """Return the version of the tables, None before the first ``sync``."""
        with self._translated():
            return schema.current_version(self.engine, schema_package)

    def head_version(self, schema_package: str) -> str:
        """Return the version that this release needs."""
        return schema.head_version(schema_package)

    def check_version(self, schema_package: str) -> None:
        """Raise ``ConfigurationError`` unless the tables have the version this release needs."""
        current, head = self.current_version(schema_package), self.head_version(schema_package)
        if current != head:
            raise exception.ConfigurationError(
                f"The {self} has schema version {current or 'none'}, but this release needs "
                f"{head}; run armillary-manage db sync"
            )

    def _error_of_ping(self) -> Exception | None:
        try:
            self.ping()
        except (exception.DatabaseUnavailable, *_ERRORS) as error:
            return error
        return None

    @property
    def _write_engine(self) -> Engine:
        engine = self.engine
        assert self._writers is not None, f"{engine} is there"
        return self._writers

    @contextlib.contextmanager
    def _writer(self) -> Iterator[Session]:
        noted: list[Callable[[Any], None]] = []
        with (
            self._writer_lock(),
            Session(
                self._write_engine, expire_on_commit=False, info={_COMMIT_CALLBACKS: noted}
            ) as session,
            session.begin(),
        ):
            yield session
        self._answered()
        if self._listener is not None:
            for tell in noted:
                tell(self._listener)

    def _writer_lock(self) -> AbstractContextManager[None]:
        if self.dialect != "sqlite":
            return contextlib.nullcontext()
        if self._file_lock is None:
            self._file_lock = sqlite.writer_lock(self.url)  # accesses the disk
        return self._file_lock

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
            self._answered()
        except _ERRORS_OF_VALUES as error:
            self._refuse_value(error)
            raise
        except _ERRORS as error:
            self._refuse_value(error)
            self._leave_standby(error)
            causes = (errors.is_unavailable, errors.is_exhausted_pool, errors.is_transient)
            if any(is_cause(error) for is_cause in causes):
                raise self._unavailable(error) from error
            raise

    def _refuse_value(self, error: BaseException) -> None:
        """Raise Invalid for a value that cannot be stored: it is a peer's mistake, or its attack.

        No traceback is logged, which a peer could cause without end.
        """
        if errors.is_of_a_value(error):
            _REFUSED.write(
                logging.WARNING, "The %s refused a value: %s", self, errors.reason_of(error)
            )
            raise exception.Invalid(
                reason=f"a value cannot be stored in the {self.name} database: it is too long, too "
                "large, or contains a NUL or a lone surrogate"
            ) from error

    def _leave_standby(self, error: BaseException) -> None:
        """After a write that was refused, connect again: the address may lead elsewhere now."""
        if errors.is_read_only(error):
            self.dispose()

    def _unavailable(self, error: BaseException) -> exception.DatabaseUnavailable:
        reason = errors.reason_of(error)
        self._is_away = True
        log = self._exhaustion if errors.is_exhausted_pool(error) else self._outage
        log.failed(reason)
        return exception.DatabaseUnavailable(name=self.name, reason=reason)

    def _answered(self) -> None:
        """Log the end of an outage."""
        if self._is_away:
            self._is_away = False
            self._outage.succeeded()
            self._exhaustion.succeeded()
