"""Online data migrations: rows changed in small batches while the services run.

A schema package names its own in ``ONLINE_MIGRATIONS``, in their order. One that has run everywhere
is removed in the release after the next, whose schema may rely on it.
"""

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy.orm import Session

from armillary.db.database import Database

BATCH_SIZE = 50


@dataclass(frozen=True, slots=True)
class OnlineMigration:
    """A migration of data. ``migrate`` changes at most so many rows in one transaction.

    It returns the number of rows that it changed; 0 means that none is left.
    """

    name: str
    migrate: Callable[[Session, int], int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Rows that a migration changed, and why it ended early, if it did."""

    name: str
    changed: int
    error: Exception | None = None


def registered(schema_package: str) -> Sequence[OnlineMigration]:
    """Return the online migrations of a schema package."""
    found: Sequence[OnlineMigration] = importlib.import_module(schema_package).ONLINE_MIGRATIONS
    return found


def run(database: Database, schema_package: str, rows_max: int | None) -> Iterator[Outcome]:
    """Run the migrations of a database, on at most ``rows_max`` rows in all.

    A migration that fails does not keep the others from running.
    """
    left = rows_max
    for each in registered(schema_package):
        changed, error = 0, None
        while left is None or left > 0:
            limit = BATCH_SIZE if left is None else min(BATCH_SIZE, left)
            try:
                count = database.run_in_writer(partial(_batch, each, limit))
            except Exception as failure:  # reported with the others
                error = failure
                break
            changed += count
            left = None if left is None else left - count
            if not count:
                break
        yield Outcome(each.name, changed, error)


def _batch(migration: OnlineMigration, limit: int, session: Session) -> int:
    return migration.migrate(session, limit)
