"""Errors that pass by themselves are told from those that do not, in all their disguises."""

import sqlite3

import psycopg2
import pymysql
import pytest
from oslo_db import exception as oslo_exception
from sqlalchemy import exc

from armillary.db import errors


class WithCode(psycopg2.OperationalError):
    """psycopg2 fills the code in C; here it is given."""

    def __init__(self, text: str, code: str | None) -> None:
        super().__init__(text)
        self.code = code

    @property
    def pgcode(self) -> str | None:  # type: ignore[override]
        return self.code


def wrapped(original: Exception) -> exc.OperationalError:
    return exc.OperationalError("SELECT 1", {}, original)


TRANSIENT = {
    "oslo-deadlock": oslo_exception.DBDeadlock(),
    "oslo-consistency": oslo_exception.DBConsistencyError(),
    "postgresql-serialisation": wrapped(WithCode("could not serialize access", "40001")),
    "postgresql-lock-timeout": wrapped(WithCode("lock timeout", "55P03")),
    "mysql-lock-timeout": wrapped(pymysql.OperationalError(1205, "Lock wait timeout")),
    "sqlite-locked": wrapped(sqlite3.OperationalError("database is locked")),
    "within-oslo": oslo_exception.DBError(wrapped(WithCode("x", "40001"))),
}
UNAVAILABLE = {
    "oslo-connection": oslo_exception.DBConnectionError(),
    "postgresql-refused": wrapped(WithCode('connection to server at "h" failed', None)),
    "postgresql-shutdown": wrapped(WithCode("terminating connection", "57P01")),
    "postgresql-too-many": wrapped(WithCode("too many clients already", "53300")),
    "mysql-refused": wrapped(pymysql.OperationalError(2003, "Can't connect")),
    "mysql-too-many": wrapped(pymysql.OperationalError(1040, "Too many connections")),
    "postgresql-full": wrapped(WithCode("could not extend file: No space left", "53100")),
    "postgresql-read-only": wrapped(WithCode("in a read-only transaction", "25006")),
    "postgresql-cancelled": wrapped(WithCode("due to statement timeout", "57014")),
    "postgresql-storage": wrapped(WithCode("could not read block 1", "58030")),
    "mysql-read-only": wrapped(pymysql.OperationalError(1290, "--super-read-only")),
    "mysql-full": wrapped(pymysql.OperationalError(1114, "The table is full")),
    "mysql-cancelled": wrapped(pymysql.OperationalError(3024, "maximum statement time")),
    "sqlite-full": wrapped(sqlite3.OperationalError("database or disk is full")),
    "sqlite-read-only": wrapped(sqlite3.OperationalError("attempt to write a readonly database")),
    "sqlite-no-file": wrapped(sqlite3.OperationalError("unable to open database file")),
}
LASTING = {
    "duplicate": oslo_exception.DBDuplicateEntry(),
    "syntax": wrapped(WithCode("syntax error", "42601")),
    "mysql-no-table": wrapped(pymysql.ProgrammingError(1146, "no such table")),
    "sqlite-no-table": wrapped(sqlite3.OperationalError("no such table")),
    "ours": ValueError("database is locked"),
}


@pytest.mark.parametrize("error", TRANSIENT.values(), ids=TRANSIENT)
def test_a_lost_race_is_transient(error: Exception) -> None:
    """The transaction may be run again."""
    assert errors.is_transient(error)
    assert not errors.is_unavailable(error)


@pytest.mark.parametrize("error", UNAVAILABLE.values(), ids=UNAVAILABLE)
def test_a_database_that_is_away_is_unavailable(error: Exception) -> None:
    """It may come back, get room, or take writes again."""
    assert errors.is_unavailable(error)
    assert not errors.is_transient(error)


@pytest.mark.parametrize("error", LASTING.values(), ids=LASTING)
def test_all_else_lasts(error: Exception) -> None:
    """Trying again would change nothing."""
    assert not errors.is_transient(error)
    assert not errors.is_unavailable(error)


def test_an_exhausted_pool_is_its_own_case() -> None:
    """It was waited for already."""
    assert errors.is_exhausted_pool(exc.TimeoutError())
    assert not errors.is_exhausted_pool(oslo_exception.DBConnectionError())


SQL = "INSERT INTO images (environment) VALUES ('PASSWORD')"
PARAMETERS = {"environment": "PASSWORD"}
OF_POSTGRESQL = WithCode(f"no table\nLINE 1: {SQL}", "42P01")
OF_MYSQL = pymysql.ProgrammingError(1146, "no table")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (exc.OperationalError(SQL, PARAMETERS, OF_POSTGRESQL), "no table"),
        (oslo_exception.DBError(exc.DBAPIError(SQL, {}, OF_MYSQL)), "(1146, 'no table')"),
        (exc.StatementError("a value", SQL, PARAMETERS, ValueError()), "StatementError"),
        (oslo_exception.DBDuplicateEntry(SQL), "DBDuplicateEntry"),
        (exc.TimeoutError("QueuePool limit"), "QueuePool limit"),
        (ValueError("two\nlines"), "two lines"),
    ],
    ids=["postgresql", "mysql-within-oslo", "before-the-driver", "oslo", "pool", "another"],
)
def test_a_reason_has_no_sql(error: Exception, reason: str) -> None:
    """Neither the statement nor its parameters, which belong to projects."""
    assert errors.reason_of(error) == reason
