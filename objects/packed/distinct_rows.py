"""Deduplicated rows of a packed form."""

from collections.abc import Callable, Hashable
from typing import Any


class DistinctRows:
    """Collects rows, equal ones once, with a fast path for identical objects."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._index_of: dict[Hashable, int] = {}
        self._known: dict[Hashable, tuple[int, Any]] = {}

    def index(self, key: Hashable, row: Any) -> int:
        """Return the index of the row, adding it if new; equal rows have equal keys."""
        index = self._index_of.setdefault(key, len(self.rows))
        if index == len(self.rows):
            self.rows.append(row)
        return index

    def index_of(
        self, identity: Hashable, holder: Any, make: Callable[[], tuple[Hashable, Any]]
    ) -> int:
        """Return the index of an object's row, where ``identity`` identifies the object.

        ``make`` returns key and row, and is called once. ``holder`` is kept alive, so that its
        ``id()`` is not reused.
        """
        known = self._known.get(identity)
        if known is None:
            known = self._known[identity] = (self.index(*make()), holder)
        return known[0]
