"""Recovery: look for work that was left lying, because its lease ran out, and take it up again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from armillary import measures
from armillary.db import Database
from conductor.leases import Leases


class Recovery:
    """One look at one table of leased rows; made a periodic task by a manager.

    ``resume`` is given keys of free rows, those that lie longest first. It takes each by
    ``Leases.take`` itself, since other conductors look at the same time, and it may leave some for
    the next look.
    """

    def __init__(
        self,
        database: Database,
        leases: Leases,
        resume: Callable[[Sequence[str]], object],
        *,
        batch_size_max: int,
    ) -> None:
        self._database = database
        self._leases = leases
        self._resume = resume
        self._batch_size_max = batch_size_max

    def run(self) -> None:
        """Take up what is free now."""
        with self._database.reader() as session:
            keys = self._leases.list_free(session, limit=self._batch_size_max)
        measures.works_found_lying(self._leases.table, len(keys))
        if keys:
            measures.works_taken_up(self._leases.table, len(keys))
            self._resume(keys)
