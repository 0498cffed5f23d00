"""Engines keep their promises on each database, and refuse what they do not know."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy

from armillary import exception
from armillary.db import Database


@pytest.fixture
def database(any_database_url: str) -> Iterator[Database]:
    database = Database(any_database_url, name="test")
    yield database
    database.dispose()


def test_transactions_are_read_committed(database: Database) -> None:
    """The servers, whose defaults differ, are set to the same isolation; SQLite has but one."""
    with database.writer() as session:
        level = session.connection().get_isolation_level()
    assert level == ("SERIALIZABLE" if database.dialect == "sqlite" else "READ COMMITTED")


def test_any_unicode_passes(database: Database) -> None:
    """Four-byte characters survive, on MariaDB, too."""
    with database.reader() as session:
        assert session.scalar(sqlalchemy.text("SELECT :s"), {"s": "\U0001f6f0"}) == "\U0001f6f0"


@pytest.mark.parametrize(
    ("dialect", "statement", "expected"),
    [
        pytest.param("postgresql", "SHOW lock_timeout", "30s", marks=pytest.mark.postgresql),
        pytest.param("mariadb", "SELECT @@innodb_lock_wait_timeout", 30, marks=pytest.mark.mariadb),
    ],
)
def test_waiting_for_a_lock_has_an_end(
    dialect: str, statement: str, expected: object, request: pytest.FixtureRequest
) -> None:
    """A client that hangs must not hang the others."""
    database = Database(request.getfixturevalue(f"{dialect}_url"), name="test")
    with database.reader() as session:
        value = session.scalar(sqlalchemy.text(statement))
    database.dispose()
    assert value == expected


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql+asyncpg://me:geheim@h/x", "allowed: mysql"),
        ("oracle://me:geheim@h/x", "uses oracle"),
        ("no url, geheim", "is not a URL"),
        ("postgresql://me:geheim@h:port/x", "is not a URL"),
    ],
    ids=["driver", "backend", "nonsense", "port"],
)
def test_a_url_of_something_else_is_refused(url: str, words: str) -> None:
    """The error says what is allowed and hides the password."""
    with pytest.raises(exception.ConfigurationError, match=words) as caught:
        Database(url, name="api")
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "drivername"),
    [
        ("postgresql://u@h/x", "postgresql+psycopg2"),
        ("mysql://u@h/x", "mysql+pymysql"),
        ("mariadb+pymysql://u@h/x", "mysql+pymysql"),
        ("sqlite:////x", "sqlite+pysqlite"),
    ],
)
def test_each_backend_has_one_driver(url: str, drivername: str) -> None:
    """oslo.db knows MariaDB's errors under MySQL's name."""
    assert Database(url, name="api").url.drivername == drivername
