"""Engines keep their promises on each database, and refuse what they do not know."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy

from armillary import exception
from armillary.db import Database
from tests.fixtures.signing.authority import CertificateAuthority


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


PEOPLE = "user:secret@db1/name"
URLS = {
    "sslrootcert": f"postgresql+psycopg2://{PEOPLE}?sslmode=verify-full&sslrootcert=",
    "sslcert": f"postgresql+psycopg2://{PEOPLE}?sslcert=",
    "ssl_ca": f"mysql+pymysql://{PEOPLE}?ssl_ca=",
    "ssl_key": f"mysql+pymysql://{PEOPLE}?ssl_key=",
}


def driver_arguments(url: str) -> dict[str, object]:
    engine = Database(url, name="API").engine
    _, named = engine.dialect.create_connect_args(engine.url)
    return dict(named)


def test_postgresql_is_told_what_to_check(certificate_authority: CertificateAuthority) -> None:
    """The library's own parameters, beside ours."""
    named = driver_arguments(f"{URLS['sslrootcert']}{certificate_authority.ca_file}")
    assert named["sslmode"] == "verify-full"
    assert named["sslrootcert"] == str(certificate_authority.ca_file)
    assert named["connect_timeout"]


def test_mysql_is_told_what_to_check(certificate_authority: CertificateAuthority) -> None:
    """The driver checks name and authority when it has one."""
    named = driver_arguments(f"{URLS['ssl_ca']}{certificate_authority.ca_file}")
    assert named["ssl"] == {"ca": str(certificate_authority.ca_file)}


@pytest.mark.parametrize("option", URLS)
def test_a_missing_file_is_a_configuration_error(option: str, tmp_path: Path) -> None:
    """It names option and file, and no password."""
    with pytest.raises(exception.ConfigurationError) as raised:
        Database(f"{URLS[option]}{tmp_path}/none.pem", name="API")
    assert f"{option}={tmp_path}/none.pem" in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("option", ["sslrootcert", "ssl_ca"])
def test_a_file_without_an_authority_is_a_configuration_error(option: str, tmp_path: Path) -> None:
    """No server could be verified."""
    path = tmp_path / "notes.txt"
    path.write_text("nothing of use")
    with pytest.raises(exception.ConfigurationError, match=r"notes\.txt"):
        Database(f"{URLS[option]}{path}", name="API")


@pytest.mark.parametrize("option", ["ssl_ca", "ssl_cert"])
@pytest.mark.parametrize("how", ["missing", "no PEM"])
def test_a_file_that_is_of_no_use_later_is_like_a_server_that_is_away(
    option: str, how: str, certificate_authority: CertificateAuthority, tmp_path: Path
) -> None:
    """It is being replaced, perhaps; PostgreSQL's library says so by itself."""
    path = tmp_path / "replaced.pem"
    path.write_bytes(certificate_authority.ca_file.read_bytes())
    database = Database(f"mysql+pymysql://user:secret@127.0.0.1:1/name?{option}={path}", name="API")
    if how == "missing":
        path.unlink()
    else:
        path.write_text("nothing of use")
    with pytest.raises(exception.DatabaseUnavailable, match="TLS file"):
        database.ping()


def test_the_authorities_of_the_system_are_not_a_file() -> None:
    """PostgreSQL's library has a word for them."""
    Database(f"{URLS['sslrootcert']}system", name="API")
