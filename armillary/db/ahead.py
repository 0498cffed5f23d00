"""Questions asked ahead: what is needed to answer is worked out while the database is asked.

A service that answers from memory has to look whether its memory is as new as the database. Asked
first, the database's word is waited for by someone who does nothing meanwhile; asked ahead, it is
there when the answer is. Only PostgreSQL's driver can be asked without waiting.
"""

from __future__ import annotations

import contextlib
import select
from collections import deque
from typing import Any

from sqlalchemy import Engine

from armillary.db.peeks import IDLE_MAX

WAIT_SECONDS_MAX = 10.0
"""A server that is silent for longer is asked in the usual way, which says what is wrong."""


class Ahead:
    """One question under way. Whoever asked takes the answer or drops it, once."""

    def __init__(self, asker: AheadPeeks, connection: Any, cursor: Any) -> None:
        self._asker = asker
        self._connection = connection
        self._cursor = cursor

    def take(self) -> tuple[Any, ...] | None:
        """Return the only row, as of a moment after the question; None when none could be had."""
        try:
            _wait(self._connection)
            row = self._cursor.fetchone()
            self._cursor.close()
        except Exception:  # it is asked again in the usual way, which raises what is wrong
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
        """Do without the answer; what was to bring it is of no use to anybody else."""
        _close(self._connection)


class AheadPeeks:
    """Asks on behalf of any number of threads, over connections kept for nothing else."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._idle: deque[Any] = deque()

    def ask(self, statement: str) -> Ahead | None:
        """Send a query without parameters; None when that did not succeed."""
        while (connection := self._take()) is not None:
            if (asked := self._send(connection, statement)) is not None:
                return asked
        try:
            connection = self._connect()
        except Exception:
            return None
        return self._send(connection, statement)

    def keep(self, connection: Any) -> None:
        """Have a connection that owes no answer back for the next question."""
        if len(self._idle) < IDLE_MAX:
            self._idle.append(connection)
        else:
            _close(connection)

    def close(self) -> None:
        """Close the connections that nobody uses."""
        while (connection := self._take()) is not None:
            _close(connection)

    def _take(self) -> Any:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _send(self, connection: Any, statement: str) -> Ahead | None:
        try:
            cursor = connection.cursor()
            cursor.execute(statement)
        except Exception:
            _close(connection)
            return None
        return Ahead(self, connection, cursor)

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
    """Wait until a connection owes nothing. Raises TimeoutError, or what the driver raises."""
    while (state := connection.poll()) != _OK:
        read, write = ([connection], []) if state == _READ else ([], [connection])
        if not any(select.select(read, write, [], WAIT_SECONDS_MAX)):
            raise TimeoutError


def _close(connection: Any) -> None:
    with contextlib.suppress(Exception):
        connection.close()


_OK, _READ = 0, 1
"""What the driver's ``poll`` answers, by the numbers of psycopg2.extensions."""
