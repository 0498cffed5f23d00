"""Copy-on-write columns: the rows of the host store, and the snapshots that decisions use."""

from typing import Any

from scheduler.hosts.host_table import Column
from scheduler.hosts.store import host_store_columns

_ROWS_MIN = 64


class CopyOnWriteColumns:
    """Columns that grow, and whose rows are used again. Not thread-safe.

    A column that a snapshot has is copied before its next change, so a snapshot never changes.
    """

    def __init__(self) -> None:
        self._columns = {
            name: host_store_columns.empty(name, _ROWS_MIN) for name in host_store_columns.names()
        }
        self._in_snapshots: set[str] = set()
        self._free: list[int] = []
        self._rows_max = _ROWS_MIN
        self._rows_end = 0

    def __getitem__(self, name: str) -> Any:
        """Return a column to read it; numbers and booleans are arrays, all else lists."""
        return self._columns[name]

    def writable(self, name: str) -> Any:
        """Return a column to change it."""
        if name in self._in_snapshots:
            self._columns[name] = self._columns[name].copy()
            self._in_snapshots.remove(name)
        return self._columns[name]

    def snapshot(self) -> dict[str, Column]:
        """Return all columns as they are now and stay."""
        self._in_snapshots.update(self._columns)
        return dict(self._columns)

    def new_row(self) -> int:
        """Return an unused row; the columns grow if there is none."""
        if self._free:
            return self._free.pop()
        if self._rows_end == self._rows_max:
            for name, column in self._columns.items():
                self._columns[name] = host_store_columns.doubled(name, column)
            self._in_snapshots.clear()
            self._rows_max *= 2
        self._rows_end += 1
        return self._rows_end - 1

    def free_row(self, row: int) -> None:
        """Let a row be used again."""
        self._free.append(row)
