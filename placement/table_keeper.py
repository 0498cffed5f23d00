"""Keep one provider table of a process up to date, and lend it to one thread at a time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from sqlalchemy.orm import Session

from armillary import exception
from armillary.db import Database
from placement.db import changes, epochs
from placement.provider_table import EPOCH_NONE, ProviderTable

T = TypeVar("T")


class TableKeeper:
    """Lends a table that is at least as new as the database was when it was asked for.

    Asking costs one tiny query when nothing changed. What changed is loaded once for all who wait.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._table = ProviderTable()
        self._was_current = False  # when it was asked last: then it likely is the next time, too

    def answer(self, work: Callable[[ProviderTable], T]) -> T:
        """Return what ``work`` makes of the table, of which it must keep nothing.

        Where nothing changed lately it is done while the database is asked whether that still
        holds, and done again if not: ``work`` must do nothing but answer.
        """
        ahead = self._database.peek_ahead(epochs.PEEK) if self._was_current else None
        if ahead is None:
            with self.table() as table:
                return work(table)
        try:
            with self._lock:
                epoch = self._table.epoch
                result = work(self._table)
        except exception.ArmillaryError:  # perhaps of a table that is too old
            ahead.drop()
            with self.table() as table:
                return work(table)
        except BaseException:
            ahead.drop()
            raise
        if ahead.take() == (epoch,):
            return result
        with self.table() as table:
            return work(table)

    @contextlib.contextmanager
    def table(self) -> Iterator[ProviderTable]:
        """Lend the table; it must not be kept, nor changed."""
        held = self._table.epoch
        needed = self._database.peek(epochs.PEEK)[0]
        with self._lock:
            self._was_current = self._table.epoch == needed
            if self._table.epoch < needed or needed < held:
                with self._database.reader() as session:
                    self._load(session)
            yield self._table

    @contextlib.contextmanager
    def table_as_of(self, session: Session) -> Iterator[ProviderTable]:
        """Lend the table of exactly the moment that a session sees; its first statement is here.

        What the session reads afterwards is of the same moment.
        """
        with self._lock:
            self._load(session)
            yield self._table

    def _load(self, session: Session) -> None:
        table, self._table = self._table, ProviderTable()  # begin anew if this fails half-way
        epochs.begin_snapshot(session)
        found = changes.get_changes(session, table.epoch)
        if found is None:
            table = ProviderTable()
            found = changes.get_changes(session, EPOCH_NONE)
        assert found is not None, "a table that begins anew can always be loaded"
        table.apply(found)
        self._table = table
