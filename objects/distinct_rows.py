"""Rows of a packed form without repetition."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any


class DistinctRows:
    """Collects rows, equal ones once; what is the same object is known without a second look."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._index_of: dict[Hashable, int] = {}
        self._known: dict[Hashable, tuple[int, Any]] = {}

    def index(self, key: Hashable, row: Any) -> int:
        """Return where the row is; ``key`` is what equal ones have in common."""
        index = self._index_of.setdefault(key, len(self.rows))
        if index == len(self.rows):
            self.rows.append(row)
        return index

    def index_of(
        self, identity: Hashable, holder: Any, make: Callable[[], tuple[Hashable, Any]]
    ) -> int:
        """Return where the row of something is that ``identity`` tells from all other things.

        ``make`` returns key and row, and is asked once. ``holder`` is kept, so that the ``id()`` of
        nothing else can become the identity.
        """
        known = self._known.get(identity)
        if known is None:
            known = self._known[identity] = (self.index(*make()), holder)
        return known[0]
