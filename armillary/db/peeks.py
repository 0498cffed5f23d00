"""One row at the price of one message: connections that are kept for questions out of transactions.

A session begins a transaction, asks and ends it, each a message to the server, and has the pool ask
before whether the connection lives. A service that has to look before each answer whether its
memory is up to date looks thousands of times a second.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from sqlalchemy import Connection, Engine, exc

IDLE_MAX = 4
"""So many connections are kept for the next question; more go back to the pool."""


class Peeks:
    """Asks on behalf of any number of threads. Raises SQLAlchemy's and oslo.db's errors."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._idle: deque[Connection] = deque()

    def one(self, statement: str) -> tuple[Any, ...]:
        """Return the only row of a query without parameters, as of now.

        A connection that was lost while nobody used it is replaced, and the question asked again.
        """
        while (connection := self._take()) is not None:
            row = self._ask_kept(connection, statement)
            if row is not None:
                return row
        return self._ask_new(self._engine.connect(), statement)

    def close(self) -> None:
        """Give all connections back to the pool."""
        while (connection := self._take()) is not None:
            connection.close()

    def _take(self) -> Connection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _ask_kept(self, connection: Connection, statement: str) -> tuple[Any, ...] | None:
        """Ask by the driver itself, for a quarter of the price; None when it could not answer.

        Whatever it raised, a new connection says it again, in the words of everybody else here.
        """
        try:
            cursor = connection.connection.cursor()
            try:
                cursor.execute(statement)
                row = cursor.fetchone()
            finally:
                cursor.close()
        except Exception:
            row = None
        except BaseException:
            _throw_away(connection)
            raise
        if row is None:
            _throw_away(connection)
            return None
        self._keep(connection)
        return tuple(row)

    def _ask_new(self, connection: Connection, statement: str) -> tuple[Any, ...]:
        try:
            row = connection.exec_driver_sql(statement).one()
        except BaseException:
            _throw_away(connection)
            raise
        self._keep(connection)
        return tuple(row)

    def _keep(self, connection: Connection) -> None:
        if len(self._idle) < IDLE_MAX:
            self._idle.append(connection)
        else:
            connection.close()


def _throw_away(connection: Connection) -> None:
    """Close a connection of which it is not known what it is good for."""
    try:
        if not connection.invalidated:
            connection.invalidate()
    except exc.SQLAlchemyError:
        pass
    finally:
        connection.close()
