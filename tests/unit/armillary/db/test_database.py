"""A database keeps what was committed, loses nothing to conflicts, reports an outage."""

import gc
import logging
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from oslo_db import exception as oslo_exception
from sqlalchemy import Column, Integer, MetaData, String, Table, insert, select, update
from sqlalchemy.orm import Session

from armillary import exception
from armillary.backoff import Backoff
from armillary.db import Database, DatabaseOptions, engines
from armillary.db import database as database_module
from tests.fixtures import waiting
from tests.fixtures.programs.python_programs import StartProgram
from tests.fixtures.services.ports import free_port

METADATA = MetaData()
COUNTER = Table(
    "counter",
    METADATA,
    Column("name", String(20), primary_key=True),
    Column("value", Integer, nullable=False),
)

# Each of its threads adds 1 to the counter, many times, in transactions that read first. With no
# retries, any "database is locked" would show.
ADDER = """
import sys, threading
from sqlalchemy import text
from armillary.db import Database, DatabaseOptions, engines
database = Database(sys.argv[1], name="test", options=DatabaseOptions(max_retries=0))
def add(session):
    value = session.scalar(text("SELECT value FROM counter WHERE name = 'a' FOR UPDATE"
                                if database.dialect != "sqlite" else
                                "SELECT value FROM counter WHERE name = 'a'"))
    session.execute(text("UPDATE counter SET value = :v WHERE name = 'a'"), {"v": value + 1})
errors = []
def work():
    try:
        for _ in range(int(sys.argv[2])):
            database.run_in_writer(add)
            with database.reader() as session:
                session.scalar(text("SELECT value FROM counter"))
    except BaseException as error:
        errors.append(repr(error))
threads = [threading.Thread(target=work) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
sys.exit("\\n".join(errors) or 0)
"""


@pytest.fixture
def database(any_database_url: str) -> Iterator[Database]:
    database = Database(any_database_url, name="test", options=DatabaseOptions(max_pool_size=10))
    METADATA.create_all(database.engine)
    yield database
    database.dispose()


@pytest.fixture
def sqlite_database(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path}/test.sqlite", name="test")
    METADATA.create_all(database.engine)
    yield database
    database.dispose()


def value_of(database: Database, name: str = "a") -> int | None:
    with database.reader() as session:
        return session.scalar(select(COUNTER.c.value).where(COUNTER.c.name == name))


def store(value: int) -> Callable[[Session], None]:
    return lambda session: (session.execute(insert(COUNTER).values(name="a", value=value)), None)[1]


def test_what_a_writer_did_is_there_afterwards(database: Database) -> None:
    """The end of the block commits."""
    with database.writer() as session:
        session.execute(insert(COUNTER).values(name="a", value=7))
    assert value_of(database) == 7


def test_arguments_are_passed_on_after_the_session(database: Database) -> None:
    """Queries are called with them, and so are writes."""

    def add(session: Session, name: str, *, value: int) -> str:
        session.execute(insert(COUNTER).values(name=name, value=value))
        return name

    assert database.run_in_writer(add, "b", value=5) == "b"
    assert database.insert_in_writer(add, "c", value=7) == "c"
    query = select(sqlalchemy.func.sum(COUNTER.c.value))
    assert database.read(Session.scalar, query) == 12


def test_an_error_in_a_writer_undoes_all_of_it(database: Database) -> None:
    """Any exception rolls back and is passed on."""

    def break_after_writing() -> None:
        with database.writer() as session:
            store(7)(session)
            raise KeyError

    with pytest.raises(KeyError):
        break_after_writing()
    assert value_of(database) is None


UNSTORED: dict[str, dict[str, Any]] = {
    "a large number": {"name": "a", "value": 2**70},
    "a lone surrogate": {"name": "a\ud800", "value": 1},
    "a number for a larger column": {"name": "a", "value": 2**40},
    "a long text": {"name": "a" * 300, "value": 1},
    "a NUL": {"name": "a\0b", "value": 1},
}
STORED_BY_SOME = {
    "a number for a larger column": {"sqlite"}, "a long text": {"sqlite"},
    "a NUL": {"sqlite", "mysql"},
}  # fmt: skip


@pytest.mark.parametrize("what", UNSTORED)
def test_a_value_that_cannot_be_stored_is_invalid(
    what: str, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """A peer may send it as often as it likes: it is one line, and no traceback.

    What a database of another kind stores comes back as it was.
    """

    def add(session: Session) -> None:
        session.execute(insert(COUNTER).values(**UNSTORED[what]))

    if database.dialect in STORED_BY_SOME.get(what, ()):
        database.run_in_writer(add)
        assert database.read(Session.scalar, select(COUNTER.c.value)) == UNSTORED[what]["value"]
        return
    with pytest.raises(exception.Invalid, match="cannot be stored in the test database"):
        database.run_in_writer(add)
    with pytest.raises(exception.Invalid), database.writer() as session:
        add(session)
    ours = [record for record in caplog.records if not record.name.startswith("oslo_db")]
    assert ["refused a value" in record.getMessage() for record in ours] == [True, True]
    assert not any(record.exc_info for record in ours)
    assert value_of(database) is None


def test_another_error_of_a_writer_is_passed_on_as_it_is(database: Database) -> None:
    """Such as one that only looks like an error of a value."""

    def fail(_session: Session) -> None:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        database.run_in_writer(fail)


def test_a_duplicate_is_oslo_dbs_own_error(database: Database) -> None:
    """Owners tell duplicates apart by DBDuplicateEntry on all three databases."""
    database.run_in_writer(store(1))
    with pytest.raises(oslo_exception.DBDuplicateEntry):
        database.run_in_writer(store(2))


def test_what_is_noted_is_told_once_it_is_committed(database: Database) -> None:
    """After a rollback, and without a listener, none is told."""
    told: list[str] = []
    note = database_module.note
    with database.writer() as session:
        note(session, lambda listener: listener.append("no listener"))
    database.tell(told)

    def fail(session: Session) -> None:
        note(session, lambda listener: listener.append("undone"))
        raise KeyError

    with pytest.raises(KeyError):
        database.run_in_writer(fail)
    with database.writer() as session:
        note(session, lambda listener: listener.append("done"))
        assert told == []
    assert told == ["done"]


def test_a_reader_refuses_to_write(database: Database) -> None:
    """A reader never commits, so it must not pretend."""
    with database.reader() as session, pytest.raises(RuntimeError, match="use writer"):
        session.execute(update(COUNTER).values(value=1))


def test_threads_and_processes_lose_no_write(
    database: Database, any_database_url: str, fork_program: StartProgram
) -> None:
    """Three processes of three threads each add to one row, and every addition counts."""
    database.run_in_writer(store(0))
    adders = [fork_program(ADDER, any_database_url, "15") for _ in range(3)]
    assert [adder.wait_for_end() for adder in adders] == [0, 0, 0], adders[0].output
    assert value_of(database) == 3 * 3 * 15


def test_a_deadlock_is_run_again_until_it_succeeds(database: Database) -> None:
    """Two writers that lock two rows in opposite order both end well."""
    with database.writer() as session:
        session.execute(insert(COUNTER), [{"name": n, "value": 0} for n in ("a", "b")])
    meet = threading.Barrier(2)
    attempts: list[str] = []

    def lock_both(order: str) -> None:
        is_first_attempt = True

        def work(session: Session) -> None:
            nonlocal is_first_attempt
            attempts.append(order)
            for name in order:
                session.execute(
                    update(COUNTER).where(COUNTER.c.name == name).values(value=COUNTER.c.value + 1)
                )
                if is_first_attempt and database.dialect != "sqlite":
                    is_first_attempt = False
                    meet.wait(waiting.seconds(10))

        database.run_in_writer(work)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lock_both, ("ab", "ba"), timeout=waiting.seconds(60)))
    assert (value_of(database, "a"), value_of(database, "b")) == (2, 2)
    assert len(attempts) == (2 if database.dialect == "sqlite" else 3)


def test_retries_end_with_unavailable(sqlite_database: Database, monkeypatch: Any) -> None:
    """A transaction that always loses is given up after max_retries, with one clear error."""
    monkeypatch.setattr(database_module, "RETRY_BACKOFF", Backoff(0.0, 0.0))
    attempts: list[int] = []

    def lose(_session: Session) -> None:
        attempts.append(1)
        raise oslo_exception.DBDeadlock

    with pytest.raises(exception.DatabaseUnavailable, match="The test database"):
        sqlite_database.run_in_writer(lose)
    assert len(attempts) == 11


@pytest.mark.postgresql
@pytest.mark.parametrize("way", ["reader", "writer"])
def test_a_table_that_is_locked_for_long_is_unavailable(
    postgresql_url: str, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """As by VACUUM FULL: a service that reads it answers that it is to be asked again."""
    monkeypatch.setattr(engines, "LOCK_WAIT_SECONDS", 0.1)
    admin, database = (Database(postgresql_url, name=name) for name in ("admin", "test"))
    METADATA.create_all(admin.engine)
    with admin.writer() as other:
        other.execute(sqlalchemy.text("LOCK TABLE counter IN ACCESS EXCLUSIVE MODE"))
        with (
            pytest.raises(exception.DatabaseUnavailable, match="lock timeout"),
            getattr(database, way)() as session,
        ):
            session.execute(select(COUNTER))
    database.read(lambda session: session.execute(select(COUNTER)))
    METADATA.drop_all(admin.engine)
    for each in (admin, database):
        each.dispose()


def test_an_error_of_the_caller_is_not_retried(sqlite_database: Database) -> None:
    """Only what may pass by itself is tried again."""
    attempts: list[int] = []

    def fail(_session: Session) -> None:
        attempts.append(1)
        raise oslo_exception.DBDuplicateEntry

    with pytest.raises(oslo_exception.DBDuplicateEntry):
        sqlite_database.run_in_writer(fail)
    assert len(attempts) == 1


def test_an_insert_is_run_again_once_if_another_was_first(sqlite_database: Database) -> None:
    """The second time it finds the other's rows; what fails then is the caller's error."""
    attempts: list[int] = []

    def insert(_session: Session) -> int:
        attempts.append(1)
        if len(attempts) in (1, 3, 4):
            raise oslo_exception.DBDuplicateEntry
        return len(attempts)

    assert sqlite_database.insert_in_writer(insert) == 2
    with pytest.raises(oslo_exception.DBDuplicateEntry):
        sqlite_database.insert_in_writer(insert)


@pytest.mark.postgresql
def test_a_killed_connection_is_replaced_and_the_work_run_again(postgresql_url: str) -> None:
    """A server that ends a connection in the middle of a transaction costs a retry."""
    database = Database(postgresql_url, name="test")
    pids: list[Any] = []

    def work(session: Session) -> None:
        pids.append(session.scalar(sqlalchemy.text("SELECT pg_backend_pid()")))
        if len(pids) == 1:
            with database.reader() as other:
                other.scalar(sqlalchemy.text("SELECT pg_terminate_backend(:p)"), {"p": pids[0]})
        session.execute(sqlalchemy.text("SELECT 1"))

    database.run_in_writer(work)
    database.dispose()
    assert len(set(pids)) == 2


@pytest.mark.postgresql
def test_connections_to_what_is_a_standby_now_are_replaced(postgresql_url: str) -> None:
    """After a failover the address leads to a server that takes writes; kept connections do not."""
    admin, database = (Database(postgresql_url, name=name) for name in ("admin", "test"))
    default = f"ALTER DATABASE {database.url.database} {{}} default_transaction_read_only"
    question = "SELECT pg_backend_pid() AS pid, current_setting('transaction_read_only') AS answer"
    METADATA.create_all(admin.engine)
    with admin.writer() as session:
        session.execute(sqlalchemy.text(default.format("SET") + " = on"))
    kept = database.peek(question)
    assert value_of(database) is None
    with admin.writer() as session:
        session.execute(sqlalchemy.text(default.format("RESET")))
    database.run_in_writer(store(1))
    peeked = database.peek(question)
    assert (value_of(database), kept[1], peeked[1]) == (1, "on", "off")
    for each in (admin, database):
        each.dispose()


def test_a_full_disk_is_unavailable_in_the_end(sqlite_database: Database, monkeypatch: Any) -> None:
    """It may get room; until then there is one clear error, and what was there can be read."""
    monkeypatch.setattr(database_module, "RETRY_BACKOFF", Backoff(0.0, 0.0))
    sqlite_database.run_in_writer(store(1))

    def fill(session: Session) -> None:
        session.execute(sqlalchemy.text("PRAGMA max_page_count = 1"))
        session.execute(sqlalchemy.text("CREATE TABLE large AS SELECT randomblob(100000)"))

    with pytest.raises(exception.DatabaseUnavailable, match="disk is full"):
        sqlite_database.run_in_writer(fill)
    assert value_of(sqlite_database) == 1


def test_a_peek_sees_what_was_committed_last(database: Database) -> None:
    """Nothing of a peek lasts: the next one sees what was written meanwhile, a failed one harms no
    other.
    """
    question = "SELECT value FROM counter"
    database.run_in_writer(store(7))
    seen = [database.peek(question)[0]]
    database.run_in_writer(lambda session: session.execute(update(COUNTER).values(value=8)))
    seen.append(database.peek(question)[0])
    with pytest.raises((oslo_exception.DBError, sqlalchemy.exc.SQLAlchemyError)):
        database.peek("SELECT nothing FROM counter")
    assert [*seen, database.peek(question)[0]] == [7, 8, 8]


@pytest.mark.postgresql
def test_a_peek_is_asked_again_when_its_connection_was_lost(postgresql_url: str) -> None:
    """A server that was restarted between two peeks is not noticed."""
    database = Database(postgresql_url, name="test")
    question = "SELECT pg_backend_pid() AS pid"
    before = database.peek(question)[0]
    with database.reader() as other:
        other.scalar(sqlalchemy.text("SELECT pg_terminate_backend(:p)"), {"p": before})
    assert database.peek(question)[0] != before
    database.dispose()


@pytest.mark.postgresql
def test_the_peeks_of_a_fork_leave_its_parent_alone(postgresql_url: str) -> None:
    """A child asks on connections of its own, and closes none of its parent's."""
    database = Database(postgresql_url, name="test")
    question = "SELECT pg_backend_pid() AS pid"
    before = database.peek(question)[0]
    pid = os.fork()
    if pid == 0:
        mine = database.peek(question)[0]
        gc.collect()
        os._exit(0 if mine != before else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert database.peek(question)[0] == before
    database.dispose()


def test_a_fork_gets_connections_of_its_own(sqlite_database: Database) -> None:
    """The engine of the parent is not used in the child."""
    engine = sqlite_database.engine
    pid = os.fork()
    if pid == 0:
        os._exit(0 if sqlite_database.engine is not engine else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert sqlite_database.engine is engine


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg2://me:geheim@127.0.0.1:{port}/x",
        "mysql+pymysql://me:geheim@127.0.0.1:{port}/x",
        "postgresql://me:geheim@nowhere.invalid:{port}/x",
    ],
    ids=["postgresql", "mysql", "no-such-host"],
)
def test_a_database_out_of_reach_is_named_without_its_password(url: str) -> None:
    """DatabaseUnavailable is what every caller gets."""
    database = Database(url.format(port=free_port()), name="placement")
    with pytest.raises(exception.DatabaseUnavailable, match="The placement database") as caught:
        database.ping()
    assert "geheim" not in str(caught.value)


def test_str_hides_the_password() -> None:
    """A database may be named in a log."""
    database = Database("postgresql://me:geheim@db1/x", name="api")
    assert str(database) == "api database (postgresql+psycopg2://me:***@db1/x)"


def test_waiting_goes_on_until_the_database_is_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says once that it is unreachable, and once that it is back."""
    monkeypatch.setattr(database_module, "OUTAGE_BACKOFF", Backoff(0.01, 30.0))
    folder = tmp_path / "later"
    database = Database(f"sqlite:///{folder}/test.sqlite", name="cell")
    assert database.engine
    folder.rmdir()
    attempts = 0
    ping = database.ping

    def ping_and_make_it_at_the_third() -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 3:
            folder.mkdir()
        ping()

    monkeypatch.setattr(database, "ping", ping_and_make_it_at_the_third)
    with caplog.at_level(logging.INFO):
        assert database.wait_until_available(threading.Event())
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_waiting_ends_when_the_service_stops() -> None:
    """The stop event is the only other way out."""
    stop = threading.Event()
    stop.set()
    database = Database(f"postgresql://u@127.0.0.1:{free_port()}/x", name="api")
    assert not database.wait_until_available(stop)


def test_an_outage_is_logged_once_and_its_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """However many readers and writers meet it."""
    folder = tmp_path / "later"
    database = Database(f"sqlite:///{folder}/test.sqlite", name="cell")
    assert database.engine
    folder.rmdir()
    caplog.set_level(logging.INFO)
    for _ in range(3):
        with pytest.raises(exception.DatabaseUnavailable):
            database.ping()
    folder.mkdir()
    database.ping()
    database.ping()
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
