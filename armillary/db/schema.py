"""Alembic migrations without an env.py: upgrade a database to a package's newest version.

Alembic is imported where it is used: programs that need no migration start sooner.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, Table, column, event, select, table, text

from armillary import exception
from armillary.db import sqlite

if TYPE_CHECKING:
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

SYNC_WAIT_SECONDS = 600  # for another process's sync

_alembic_guard = threading.Lock()  # its ``op`` and ``context`` are global to the process


def head_version(schema_package: str) -> str:
    """Return the newest version in the package: its files begin with their versions."""
    return max(
        path.name.partition("_")[0] for path in _folder(schema_package).glob("versions/*.py")
    )


def current_version(engine: Engine, schema_package: str) -> str | None:
    """Return the version of this package's tables in the database, None if there is none."""
    name = _version_table(schema_package)
    with engine.connect() as connection:
        if not connection.dialect.has_table(connection, name):
            return None
        found: str | None = connection.scalar(
            select(column("version_num")).select_from(table(name))
        )
        return found


def sync(engine: Engine, write_engine: Engine, schema_package: str) -> str:
    """Upgrade to the newest version, one process at a time, and return it."""
    scripts = _scripts(schema_package)
    with (
        _alembic_guard,
        write_engine.connect() as connection,
        _only_one(connection),
        _table_defaults(),
    ):
        _upgrade(connection, scripts, _version_table(schema_package))
    engine.dispose()  # prepared statements for the old tables
    return head_version(schema_package)


def _scripts(schema_package: str) -> ScriptDirectory:
    from alembic.script import ScriptDirectory

    return ScriptDirectory(_folder(schema_package))


def _folder(schema_package: str) -> Path:
    package = importlib.import_module(schema_package)
    return Path(next(iter(package.__path__)))


def _version_table(schema_package: str) -> str:
    """Return the table that holds the version; it is the package's own, also after a move."""
    table: str = importlib.import_module(schema_package).VERSION_TABLE
    return table


def _upgrade(connection: Connection, scripts: ScriptDirectory, version_table: str) -> None:
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.util import CommandError

    def steps(revision: Any, _context: MigrationContext) -> Any:
        return scripts._upgrade_revs("head", revision)

    with EnvironmentContext(Config(), scripts, fn=steps) as environment:
        environment.configure(
            connection=connection,
            version_table=version_table,
            transactional_ddl=connection.dialect.name != "mysql",
            render_as_batch=connection.dialect.name == "sqlite",
        )
        try:
            with environment.begin_transaction():
                environment.run_migrations()
        except CommandError as error:
            raise exception.ConfigurationError(
                f"The schema of the database is not from this release: {error}"
            ) from error


@contextlib.contextmanager
def _only_one(connection: Connection) -> Iterator[None]:
    """Serialise migrations of processes; all databases but MySQL roll back on an error."""
    guards = {
        "sqlite": _only_one_sqlite,
        "postgresql": _only_one_postgresql,
        "mysql": _only_one_mysql,
    }
    with guards[connection.dialect.name](connection):
        yield


@contextlib.contextmanager
def _only_one_sqlite(connection: Connection) -> Iterator[None]:
    # otherwise a rebuilt table would lose its children
    sqlite.set_foreign_keys(connection, is_on=False)
    try:
        with sqlite.writer_lock(connection.engine.url), connection.begin():
            yield
    finally:
        sqlite.set_foreign_keys(connection, is_on=True)


@contextlib.contextmanager
def _only_one_postgresql(connection: Connection) -> Iterator[None]:
    with connection.begin():
        connection.execute(text(f"SET LOCAL lock_timeout = '{SYNC_WAIT_SECONDS}s'"))
        connection.execute(
            text("SELECT pg_advisory_xact_lock(:key)"), {"key": _lock_key(connection)}
        )
        yield


@contextlib.contextmanager
def _only_one_mysql(connection: Connection) -> Iterator[None]:
    lock = {"name": f"armillary-{_lock_key(connection)}", "wait": SYNC_WAIT_SECONDS}
    is_mine = connection.execute(text("SELECT GET_LOCK(:name, :wait)"), lock).scalar()
    connection.commit()
    if is_mine != 1:
        raise exception.DatabaseUnavailable(
            name=connection.engine.url.database,
            reason="another process has been migrating it for too long",
        )
    try:
        yield
    finally:
        connection.rollback()
        connection.execute(text("SELECT RELEASE_LOCK(:name)"), {"name": lock["name"]})
        connection.commit()


def _lock_key(connection: Connection) -> int:
    """Return a lock key for this database: MySQL's locks are server-wide."""
    return zlib.crc32(f"armillary schema {connection.engine.url.database}".encode())


@contextlib.contextmanager
def _table_defaults() -> Iterator[None]:
    """Create MySQL tables as InnoDB, with full Unicode and exact comparison."""

    def set_defaults(table: Table, connection: Connection, **_rest: Any) -> None:
        if connection.dialect.name == "mysql":
            table.dialect_kwargs.setdefault("mysql_engine", "InnoDB")
            table.dialect_kwargs.setdefault("mysql_charset", "utf8mb4")
            table.dialect_kwargs.setdefault("mysql_collate", "utf8mb4_bin")

    event.listen(Table, "before_create", set_defaults)
    try:
        yield
    finally:
        event.remove(Table, "before_create", set_defaults)
