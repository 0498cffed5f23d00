"""Refresh of a process's provider table, and its use by one thread at a time."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from sqlalchemy.orm import Session

from armillary import exception
from armillary.db import Database
from placement.db import changes, epochs
from placement.providers.provider_table import EPOCH_NONE, ProviderTable

T = TypeVar("T")


class TableCache:
    """Lend a table at least as current as the database at the time of the request.

    If nothing changed, this costs one tiny query. Changes are loaded once for all waiting threads.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._table = ProviderTable()
        self._was_current = False  # at the last check: then probably at the next one, too

    def answer(self, work: Callable[[ProviderTable], T]) -> T:
        """Return the result of ``work`` on the table; it must not keep a reference to the table.

        If the table was up to date recently, the work runs while the database is asked whether it
        still is, and runs again if not: ``work`` must have no side effects.
        """
        ahead = self._database.start_query(epochs.PEEK) if self._was_current else None
        if ahead is None:
            with self.table() as table:
                return work(table)
        try:
            with self._lock:
                epoch = self._table.epoch
                result = work(self._table)
        except exception.ArmillaryError:  # possibly of a stale table
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
        """Lend the table; it must be neither kept nor changed."""
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
        """Lend the table of the snapshot of a session; this runs its first statement.

        Later reads of the session see the same snapshot.
        """
        with self._lock:
            self._load(session)
            yield self._table

    def _load(self, session: Session) -> None:
        # start from scratch if this fails half-way
        table, self._table = self._table, ProviderTable()
        epochs.begin_snapshot(session)
        found = changes.get_changes(session, table.epoch)
        if found is None:
            table = ProviderTable()
            found = changes.get_changes(session, EPOCH_NONE)
        assert found is not None, "an empty table can always be loaded"
        table.apply(found)
        self._table = table
