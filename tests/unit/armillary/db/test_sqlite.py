"""SQLite with several threads and processes: none sees it locked."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from armillary import exception
from armillary.db import Database, sqlite
from tests.fixtures.programs.python_programs import StartProgram

# Opens files that no process has switched to WAL yet, all at the same moments as others do.
OPENER = """
import sys, time
from armillary.db import Database
for number in range(100):
    database = Database(f"{sys.argv[1]}/{number}.sqlite", name="test")
    assert database.engine
    time.sleep(max(0, float(sys.argv[2]) + number * 0.01 - time.time()))
    database.ping()
    database.dispose()
"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path}/folder/test.sqlite", name="test")
    with database.writer() as session:
        session.execute(text("CREATE TABLE counter (value INT)"))
        session.execute(text("INSERT INTO counter VALUES (1)"))
    yield database
    database.dispose()


def value_of(database: Database) -> int | None:
    with database.reader() as session:
        return session.scalar(text("SELECT value FROM counter"))


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "sqlite:///file:x?mode=memory&uri=true"]
)
def test_a_database_in_memory_is_refused(url: str) -> None:
    """Several connections could not share it."""
    with pytest.raises(exception.ConfigurationError, match="needs a file"):
        Database(url, name="api").ping()


def test_a_writer_inside_a_writer_is_a_mistake_not_a_hang(database: Database) -> None:
    """SQLite could only wait for itself."""
    with (
        database.writer(),
        pytest.raises(RuntimeError, match="inside another writer"),
        database.writer(),
    ):
        pass


def test_two_databases_of_one_file_share_the_lock(database: Database, tmp_path: Path) -> None:
    """Two managers in one process may use the same file, by different paths."""
    other = Database(f"sqlite:///{tmp_path}/folder/../folder/test.sqlite", name="other")
    assert sqlite.writer_lock(other.url) is sqlite.writer_lock(database.url)


def test_readers_do_not_wait_for_a_writer(database: Database) -> None:
    """A reader sees the last commit while a writer is at work."""
    with database.writer() as session:
        session.execute(text("UPDATE counter SET value = 2"))
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(value_of, database).result(10) == 1


def test_foreign_keys_are_kept(database: Database) -> None:
    """SQLite ignores them unless told."""
    with database.reader() as session:
        assert session.scalar(text("PRAGMA foreign_keys")) == 1


def test_processes_may_open_new_files_together(tmp_path: Path, fork_program: StartProgram) -> None:
    """The switch to WAL, for which SQLite itself does not wait, fails for none of them."""
    start = str(time.time() + 1.5)
    programs = [fork_program(OPENER, f"sqlite:///{tmp_path}", start) for _ in range(4)]
    codes = [program.wait_for_end() for program in programs]
    assert codes == [0] * 4, "\n".join(program.output for program in programs)


def test_a_savepoint_can_be_undone(database: Database) -> None:
    """Owners try an insert and go on when it is there already."""
    with database.writer() as session:
        savepoint = session.begin_nested()
        session.execute(text("UPDATE counter SET value = 2"))
        savepoint.rollback()
    assert value_of(database) == 1


def test_a_result_that_was_not_read_to_its_end_keeps_no_old_state(database: Database) -> None:
    """Nor does the traceback of the error that left it so: the next reader sees what is there."""
    with database.writer() as session:
        session.execute(text("INSERT INTO counter VALUES (2)"))
    with database.reader() as session:
        kept = session.execute(text("SELECT value FROM counter"))
        assert next(iter(kept)).value == 1
    other = Database(str(database.url), name="other")
    with other.writer() as session:
        session.execute(text("UPDATE counter SET value = 7"))
    other.dispose()
    assert value_of(database) == 7
