"""Who shares a database goes by its server's clock, however wrong the machine's own is."""

import time

import pytest

from armillary.db import Database
from armillary.db.database_clock import ANSWER_SECONDS_MAX, DatabaseClock
from tests.fixtures.services.ports import free_port

HOUR = 3600.0


def an_hour_fast() -> float:
    return time.time() + HOUR


@pytest.fixture(params=["postgresql", "mariadb"])
def database(request: pytest.FixtureRequest) -> Database:
    url: str = request.getfixturevalue(f"{request.param}_url")
    return Database(url, name="test")


def test_a_wrong_clock_of_this_machine_changes_nothing(database: Database) -> None:
    """The server is on this machine here, and both say the same time."""
    clock = DatabaseClock(database, here=an_hour_fast)
    clock.read()
    before, shown, after = time.time(), clock(), time.time()
    database.dispose()
    assert before - ANSWER_SECONDS_MAX <= shown <= after + ANSWER_SECONDS_MAX


def test_an_answer_that_was_long_under_way_is_not_believed(database: Database) -> None:
    """The process was paused after the server had answered."""
    moments = iter((0.0, 90.0))
    clock = DatabaseClock(database, here=lambda: 7.0, monotonic=lambda: next(moments))
    clock.read()
    database.dispose()
    assert clock() == 7.0


def test_the_last_answer_is_counted_on_from_while_the_server_is_away() -> None:
    """A database that does not answer changes no clock, and fails no caller."""
    url = f"postgresql://someone@127.0.0.1:{free_port()}/none?connect_timeout=1"
    clock = DatabaseClock(Database(url, name="test"), here=lambda: 7.0)
    clock.read()
    assert clock() == 7.0


def test_a_file_goes_by_the_clock_of_its_machine() -> None:
    """No server has another one."""
    clock = DatabaseClock(Database("sqlite://", name="test"), here=lambda: 7.0)
    clock.read()
    assert clock() == 7.0
