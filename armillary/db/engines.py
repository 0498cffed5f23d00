"""Engines and connection pools for three databases: READ COMMITTED and bounded waits on each."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oslo_db.sqlalchemy import engines as oslo_engines
from sqlalchemy import Engine, event, exc
from sqlalchemy.engine import URL, make_url

from armillary import concurrency, exception
from armillary.db import sqlite

DRIVERS = {
    "sqlite": "sqlite+pysqlite",
    "postgresql": "postgresql+psycopg2",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",  # oslo.db identifies MySQL errors by the name mysql
}
CONNECT_TIMEOUT_SECONDS = 10
LOCK_WAIT_SECONDS = 30
_CANNOT_CONNECT = 2003  # MySQL's maximum
IDLE_IN_TRANSACTION_SECONDS = 60  # then the server releases the locks of a client that hangs


@dataclass(frozen=True)
class DatabaseOptions:
    """How a process uses a database; the defaults are those of the configuration."""

    max_pool_size: int = 5
    max_overflow: int = 50
    pool_timeout_seconds: int = 30
    connection_recycle_seconds: int = 3600
    max_retries: int = 10
    sqlite_busy_timeout_seconds: int = 60


def parse_url(connection: str, name: str) -> URL:
    """Return the URL with its driver; raise ``ConfigurationError``, without the password."""
    try:
        url = make_url(connection)
        backend = url.get_backend_name()
    except (exc.ArgumentError, ValueError) as error:
        raise exception.ConfigurationError(
            f"The connection of the {name} database is not a URL such as "
            "postgresql+psycopg2://user:password@host/name"
        ) from error
    drivername = DRIVERS.get(backend)
    if drivername is None or url.drivername not in (backend, drivername, f"{backend}+pymysql"):
        raise exception.ConfigurationError(
            f"The connection of the {name} database uses {url.drivername}; allowed: "
            f"{', '.join(sorted({*DRIVERS.values()}))}"
        )
    check_files(url, name)
    return url.set(drivername=drivername)


def create_engine(url: URL, options: DatabaseOptions, name: str) -> Engine:
    """Return an engine that has not connected yet; raise ``ConfigurationError`` if it never can."""
    makers: dict[str, Callable[[URL, DatabaseOptions], Engine]] = {
        "sqlite": _create_sqlite_engine,
        "postgresql": _create_postgresql_engine,
        "mysql": _create_mysql_engine,
    }
    try:
        return makers[url.get_backend_name()](url, options)
    except (exc.ArgumentError, ImportError, OSError) as error:
        raise exception.ConfigurationError(
            f"The {name} database cannot be used: {error}"
        ) from error


def _create_sqlite_engine(url: URL, options: DatabaseOptions) -> Engine:
    return sqlite.create_engine(
        url,
        busy_timeout_seconds=options.sqlite_busy_timeout_seconds,
        pool_size=options.max_pool_size,
        max_overflow=options.max_overflow,
        pool_timeout=options.pool_timeout_seconds,
    )


def _create_postgresql_engine(url: URL, options: DatabaseOptions) -> Engine:
    bounds = {
        "connect_timeout": str(CONNECT_TIMEOUT_SECONDS),
        "keepalives_idle": "30",
        "keepalives_interval": "10",
        "keepalives_count": "3",
    }
    engine = _create_oslo_engine(url.set(query={**bounds, **url.query}), options)
    _on_connect(
        engine,
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED",
        f"SET lock_timeout = '{LOCK_WAIT_SECONDS}s'",
        f"SET idle_in_transaction_session_timeout = '{IDLE_IN_TRANSACTION_SECONDS}s'",
    )
    return engine


def _create_mysql_engine(url: URL, options: DatabaseOptions) -> Engine:
    defaults = {"charset": "utf8mb4", "connect_timeout": str(CONNECT_TIMEOUT_SECONDS)}
    engine = _create_oslo_engine(
        url.set(query={**defaults, **url.query}), options, mysql_sql_mode="TRADITIONAL"
    )
    _blame_files_like_a_server(engine)
    _on_connect(
        engine,
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        f"SET SESSION innodb_lock_wait_timeout = {LOCK_WAIT_SECONDS}",
        "SET SESSION default_storage_engine = InnoDB",
    )
    return engine


def _create_oslo_engine(url: URL, options: DatabaseOptions, **special: Any) -> Engine:
    return oslo_engines.create_engine(
        url,
        connection_recycle_time=options.connection_recycle_seconds,
        max_pool_size=options.max_pool_size,
        max_overflow=options.max_overflow,
        pool_timeout=options.pool_timeout_seconds,
        max_retries=0,  # lazy: callers wait with wait_until_available
        thread_checkin=concurrency.backend() == concurrency.EVENTLET,
        **special,
    )


def _blame_files_like_a_server(engine: Engine) -> None:
    """Report temporarily invalid TLS files like an unreachable server.

    The driver reads them before it connects and would raise the error of reading them.
    """

    @event.listens_for(engine, "do_connect")
    def connect(dialect: Any, _record: Any, args: Any, options: Any) -> Any:
        try:
            return dialect.connect(*args, **options)
        except OSError as error:  # ssl.SSLError is one
            raise dialect.loaded_dbapi.OperationalError(
                _CANNOT_CONNECT, f"a TLS file cannot be used: {error}"
            ) from error


def _on_connect(engine: Engine, *statements: str) -> None:
    @event.listens_for(engine, "connect")
    def prepare(dbapi_connection: Any, _record: Any) -> None:
        with dbapi_connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        dbapi_connection.commit()


AUTHORITIES = ("sslrootcert", "ssl_ca")
OTHERS = ("sslcert", "sslkey", "sslcrl", "ssl_cert", "ssl_key")
_OF_THE_SYSTEM = "system"
"""PostgreSQL's keyword for the system's authorities."""


def check_files(url: URL, name: str) -> None:
    """Raise ConfigurationError for a TLS file that is unreadable or contains no authority.

    The driver would only find out when it connects, and a permanent mistake would look like a
    temporary outage.
    """
    for option in (*AUTHORITIES, *OTHERS):
        path = url.query.get(option)
        if isinstance(path, str) and path != _OF_THE_SYSTEM:
            _check(Path(path), option, name)


def _check(path: Path, option: str, name: str) -> None:
    try:
        if option in AUTHORITIES:
            ssl.create_default_context(cafile=path)
        else:
            path.read_bytes()
    except (OSError, ssl.SSLError) as error:
        reason = error.strerror or str(error)
        raise exception.ConfigurationError(
            f"The connection of the {name} database names {option}={path}, which cannot be "
            f"used: {reason}; expected a PEM file that this service may read"
        ) from error
