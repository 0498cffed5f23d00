"""The epoch row on three databases: one writer at a time, and readers that see one moment."""

import threading
from collections.abc import Iterator

import pytest

from armillary.db import Database
from placement.db import epochs
from tests.fixtures.placement import SCHEMA
from tests.fixtures.services.databases import NewTables

SECONDS_MAX = 60


@pytest.fixture
def database(any_tables: NewTables) -> Iterator[Database]:
    made = Database(any_tables(SCHEMA), name="placement")
    yield made
    made.dispose()


def test_a_new_database_begins_before_its_first_write(database: Database) -> None:
    """Nothing was written, nothing forgotten."""
    with database.reader() as session:
        assert tuple(epochs.get_epochs(session)) == (0, 0, 0)


def test_the_next_writer_waits_and_gets_the_next_epoch(database: Database) -> None:
    """It sees what the one before it left."""
    seen: list[int] = []
    begun = threading.Event()

    def write() -> None:
        begun.set()
        with database.writer() as session:
            seen.append(epochs.lock(session))

    other = threading.Thread(target=write)
    with database.writer() as session:
        epoch = epochs.lock(session)
        other.start()
        assert begun.wait(SECONDS_MAX)
        other.join(0.2)
        assert seen == []
        epochs.publish_usage(session, epoch)
    other.join(SECONDS_MAX)
    assert (epoch, seen) == (1, [2])


def test_a_snapshot_stays_at_its_moment(database: Database) -> None:
    """Whatever is committed meanwhile."""
    with database.reader() as session:
        epochs.begin_snapshot(session)
        before = tuple(epochs.get_epochs(session))
        with database.writer() as other:
            epochs.publish_facts(other, 7)
        assert tuple(epochs.get_epochs(session)) == before
    with database.reader() as session:
        assert tuple(epochs.get_epochs(session)) == (7, 7, 0)


def test_a_snapshot_ends_with_its_transaction(database: Database) -> None:
    """The connection's next user sees the present again, statement by statement."""
    with database.reader() as session:
        epochs.begin_snapshot(session)
        epochs.get_epochs(session)
    if database.dialect == "sqlite":
        return  # a reader of SQLite always sees one moment
    with database.reader() as session:
        epochs.get_epochs(session)
        with database.writer() as other:
            epochs.publish_usage(other, 5)
        assert epochs.get_epochs(session).epoch == 5
