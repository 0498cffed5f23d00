"""One row at the price of one message: connections that are kept for questions out of transactions.

A session begins a transaction, asks and ends it, each a message to the server, and has the pool ask
before whether the connection lives. A service that has to look before each answer whether its
memory is up to date looks thousands of times a second.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from sqlalchemy import Connection, Engine, Row, exc

from armillary.db import errors

IDLE_MAX = 4
"""So many connections are kept for the next question; more go back to the pool."""


class Peeks:
    """Asks on behalf of any number of threads. Raises SQLAlchemy's and oslo.db's errors."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._idle: deque[Connection] = deque()

    def one(self, statement: str) -> Row[Any]:
        """Return the only row of a query without parameters, as of now.

        A connection that was lost while nobody used it is replaced, and the question asked again.
        """
        while True:
            connection = self._take()
            if connection is None:
                return self._ask(self._engine.connect(), statement)
            try:
                return self._ask(connection, statement)
            except Exception as error:
                if not errors.is_unreachable(error):
                    raise

    def close(self) -> None:
        """Give all connections back to the pool."""
        while (connection := self._take()) is not None:
            connection.close()

    def _take(self) -> Connection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _ask(self, connection: Connection, statement: str) -> Row[Any]:
        try:
            row = connection.exec_driver_sql(statement).one()
        except BaseException:
            _throw_away(connection)
            raise
        if len(self._idle) < IDLE_MAX:
            self._idle.append(connection)
        else:
            connection.close()
        return row


def _throw_away(connection: Connection) -> None:
    """Close a connection of which it is not known what it is good for."""
    try:
        if not connection.invalidated:
            connection.invalidate()
    except exc.SQLAlchemyError:
        pass
    finally:
        connection.close()
