"""Asynchronous queries that overlap with other work, on PostgreSQL.

A service that answers from memory has to check whether its memory is as new as the database. A
synchronous query would leave the caller idle; an asynchronous one completes while the answer is
prepared. Only PostgreSQL's driver supports this.
"""

from __future__ import annotations

import contextlib
import select
from collections import deque
from typing import Any

from sqlalchemy import Engine

from armillary.db.single_row_queries import IDLE_MAX

WAIT_SECONDS_MAX = 10.0
"""Timeout of a query; the synchronous query that follows reports what is wrong."""


class AsyncQuery:
    """One query in progress. The caller takes its result or drops it, once."""

    def __init__(self, asker: AsyncQueries, connection: Any, cursor: Any) -> None:
        self._asker = asker
        self._connection = connection
        self._cursor = cursor

    def take(self) -> tuple[Any, ...] | None:
        """Return the only row, as of a moment after the query was sent; None if it failed."""
        try:
            _wait(self._connection)
            row = self._cursor.fetchone()
            self._cursor.close()
        except Exception:  # the synchronous query that follows raises the error
            row = None
        except BaseException:
            self.drop()
            raise
        if row is None:
            self.drop()
            return None
        self._asker.keep(self._connection)
        return tuple(row)

    def drop(self) -> None:
        """Discard the result; its connection cannot be reused."""
        _close(self._connection)


class AsyncQueries:
    """Asynchronous queries of any number of threads, over dedicated connections."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._idle: deque[Any] = deque()

    def ask(self, statement: str) -> AsyncQuery | None:
        """Send a query without parameters; return None if that fails."""
        while (connection := self._take()) is not None:
            if (asked := self._send(connection, statement)) is not None:
                return asked
        try:
            connection = self._connect()
        except Exception:
            return None
        return self._send(connection, statement)

    def keep(self, connection: Any) -> None:
        """Keep an idle connection for the next query."""
        if len(self._idle) < IDLE_MAX:
            self._idle.append(connection)
        else:
            _close(connection)

    def close(self) -> None:
        while (connection := self._take()) is not None:
            _close(connection)

    def _take(self) -> Any:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _send(self, connection: Any, statement: str) -> AsyncQuery | None:
        try:
            cursor = connection.cursor()
            cursor.execute(statement)
        except Exception:
            _close(connection)
            return None
        return AsyncQuery(self, connection, cursor)

    def _connect(self) -> Any:
        dialect = self._engine.dialect
        arguments, named = dialect.create_connect_args(self._engine.url)
        connection = dialect.loaded_dbapi.connect(*arguments, **named, async_=True)
        try:
            _wait(connection)
        except BaseException:
            _close(connection)
            raise
        return connection


def _wait(connection: Any) -> None:
    """Wait until a connection is idle. Raises TimeoutError, or what the driver raises."""
    while (state := connection.poll()) != _OK:
        read, write = ([connection], []) if state == _READ else ([], [connection])
        if not any(select.select(read, write, [], WAIT_SECONDS_MAX)):
            raise TimeoutError


def _close(connection: Any) -> None:
    with contextlib.suppress(Exception):
        connection.close()


_OK, _READ = 0, 1
"""Results of the driver's ``poll``, numbered as in psycopg2.extensions."""
