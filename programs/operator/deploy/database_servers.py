"""Databases and accounts of a deployment on PostgreSQL or MariaDB."""

from __future__ import annotations

import contextlib
import os
import pwd
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from armillary import exception
from programs.operator.deploy.steps import Steps, reason_of

POSTGRESQL_SOCKETS = "/var/run/postgresql"
MARIADB_SOCKET = "/run/mysqld/mysqld.sock"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_CONNECT_SECONDS = 10


def server_of(admin: str, address: str) -> DatabaseServer:
    """Return the server that an administrator's URL leads to.

    ``address`` is where services find it. Raises Invalid.
    """
    try:
        url = make_url(admin)
        kind = _KINDS[url.get_backend_name()]
    except (ArgumentError, KeyError) as error:
        raise exception.Invalid(
            reason="--database-admin is not a URL of PostgreSQL or MariaDB, such as "
            "postgresql://postgres:SECRET@db1/postgres or mysql://root:SECRET@db1/"
        ) from error
    return kind(url, address)


class DatabaseServer(ABC):
    """Makes databases, and accounts that own them."""

    driver: str
    port: int

    def __init__(self, admin: URL, address: str) -> None:
        self._admin = self._completed(admin.set(drivername=self.driver))
        host, _, port = address.rpartition(":") if address else ("127.0.0.1", "", "")
        self._host, self._port = host or address, int(port or self.port)

    def url(self, account: str, password: str, database: str) -> str:
        """Return the URL for a service's configuration."""
        return URL.create(
            self.driver, account, password, self._host, self._port, database
        ).render_as_string(hide_password=False)

    def make(
        self, steps: Steps, account: str, password: str, databases: list[str], *, adopts: bool
    ) -> None:
        """Make an account and its databases. Raises Conflict, Invalid, Unavailable, StepFailed."""
        for name in (account, *databases):
            if not _NAME.fullmatch(name):
                raise exception.Invalid(
                    reason=f"{name} cannot be the name of a database or account: at most 63 small "
                    "letters, digits and _; choose another --prefix or cell"
                )
        with self._connected() as connection:
            had_account = self._has_account(connection, account)
            steps.do(
                "create",
                f"database account {account}",
                lambda: self._create_account(connection, account, password),
                is_done=had_account,
            )
            for name in databases:
                self._make_database(steps, connection, account, name)
            if had_account and databases:
                self._set_password(steps, connection, account, password, databases[0], adopts)

    def drop(self, steps: Steps, account: str, database: str) -> None:
        """Drop a database and its owner. Raises Conflict, Unavailable, StepFailed."""
        with self._connected() as connection:
            owner = self._owner(connection, database)
            if owner not in (None, account):
                raise _foreign(database, account)
            steps.do(
                "drop",
                f"database {database}",
                lambda: self._drop_database(connection, database),
                is_done=owner is None,
            )
            steps.do(
                "drop",
                f"database account {account}",
                lambda: self._drop_account(connection, account),
                is_done=not self._has_account(connection, account),
            )

    def _make_database(
        self, steps: Steps, connection: sa.Connection, account: str, name: str
    ) -> None:
        owner = self._owner(connection, name)
        if owner not in (None, account):
            raise _foreign(name, account)
        steps.do(
            "create",
            f"database {name} of {account}",
            lambda: self._create_database(connection, name, account),
            is_done=owner == account,
        )
        self._restrict(steps, connection, name, is_new=owner is None)

    def _set_password(
        self,
        steps: Steps,
        connection: sa.Connection,
        account: str,
        password: str,
        database: str,
        adopts: bool,
    ) -> None:
        if steps.is_dry_run and self._owner(connection, database) is None:
            return
        is_right = self._can_log_in(account, password, database)
        if not is_right and not adopts:
            raise exception.Conflict(
                reason=f"the account {account} cannot log in to the database {database}, or it has "
                "another password. If it is of another deployment, give --prefix; if it is of this "
                "one, give --adopt to set its password"
            )
        steps.do(
            "change",
            f"password of the database account {account}",
            lambda: self._change_password(connection, account, password),
            is_done=is_right,
        )

    def _can_log_in(self, account: str, password: str, database: str) -> bool:
        try:
            with _engine(make_url(self.url(account, password, database))).connect():
                return True
        except SQLAlchemyError:
            return False

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sa.Connection]:
        """Lend a connection of the administrator. Raises Unavailable."""
        try:
            with self._identity():
                connection = _engine(self._admin).connect()
        except SQLAlchemyError as error:
            raise exception.Unavailable(
                f"the database server cannot be reached as administrator: {reason_of(error)}; "
                "start it, or give --database-admin URL"
            ) from error
        with connection:
            yield connection

    def _identity(self) -> contextlib.AbstractContextManager[None]:
        """Return a context with the user that the server knows by its socket."""
        return contextlib.nullcontext()

    @abstractmethod
    def _completed(self, admin: URL) -> URL:
        """Return the URL with the server's usual socket and administrator where it has none."""

    @abstractmethod
    def _has_account(self, connection: sa.Connection, name: str) -> bool: ...

    @abstractmethod
    def _create_account(self, connection: sa.Connection, name: str, password: str) -> None: ...

    @abstractmethod
    def _change_password(self, connection: sa.Connection, name: str, password: str) -> None: ...

    @abstractmethod
    def _owner(self, connection: sa.Connection, database: str) -> str | None:
        """Return whose the database is, None if there is none."""

    @abstractmethod
    def _create_database(self, connection: sa.Connection, name: str, account: str) -> None: ...

    @abstractmethod
    def _drop_database(self, connection: sa.Connection, name: str) -> None:
        """Drop a database, also while it has connections."""

    @abstractmethod
    def _drop_account(self, connection: sa.Connection, name: str) -> None: ...

    @abstractmethod
    def _restrict(
        self, steps: Steps, connection: sa.Connection, name: str, *, is_new: bool
    ) -> None:
        """Keep other accounts out of a database, where the server would let them in."""


class PostgreSQL(DatabaseServer):
    """The administrator's default is ``postgres``, by the socket."""

    driver = "postgresql+psycopg2"
    port = 5432

    def _completed(self, admin: URL) -> URL:
        url = admin.set(
            username=admin.username or "postgres", database=admin.database or "postgres"
        )
        if url.host or "host" in url.query:
            return url
        return url.set(query={**url.query, "host": POSTGRESQL_SOCKETS})

    @contextlib.contextmanager
    def _identity(self) -> Iterator[None]:
        user = str(self._admin.username)
        is_peer = not self._admin.host and not self._admin.password and os.geteuid() == 0
        try:
            uid = pwd.getpwnam(user).pw_uid if is_peer else 0
        except KeyError:
            uid = 0
        os.seteuid(uid or os.geteuid())
        try:
            yield
        finally:
            if uid:
                os.seteuid(0)

    def _has_account(self, connection: sa.Connection, name: str) -> bool:
        return _exists(connection, "SELECT 1 FROM pg_roles WHERE rolname = :name", name=name)

    def _create_account(self, connection: sa.Connection, name: str, password: str) -> None:
        _execute(connection, f'CREATE ROLE "{name}" LOGIN PASSWORD :password', password=password)

    def _change_password(self, connection: sa.Connection, name: str, password: str) -> None:
        _execute(connection, f'ALTER ROLE "{name}" LOGIN PASSWORD :password', password=password)

    def _owner(self, connection: sa.Connection, database: str) -> str | None:
        statement = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = :name"
        return connection.execute(sa.text(statement), {"name": database}).scalar()

    def _create_database(self, connection: sa.Connection, name: str, account: str) -> None:
        _execute(connection, f'CREATE DATABASE "{name}" OWNER "{account}"')

    def _drop_database(self, connection: sa.Connection, name: str) -> None:
        _execute(connection, f'DROP DATABASE "{name}" WITH (FORCE)')

    def _drop_account(self, connection: sa.Connection, name: str) -> None:
        _execute(connection, f'DROP ROLE "{name}"')

    def _restrict(
        self, steps: Steps, connection: sa.Connection, name: str, *, is_new: bool
    ) -> None:
        revoke = f'REVOKE CONNECT, TEMPORARY ON DATABASE "{name}" FROM PUBLIC'
        is_restricted = "SELECT 1 WHERE NOT has_database_privilege('public', :name, 'CONNECT')"
        steps.do(
            "restrict",
            f"database {name} to its owner",
            lambda: _execute(connection, revoke),
            is_done=not is_new and _exists(connection, is_restricted, name=name),
        )


class MariaDB(DatabaseServer):
    """The administrator's default is ``root``, by the socket."""

    driver = "mysql+pymysql"
    port = 3306

    def _completed(self, admin: URL) -> URL:
        url = admin.set(username=admin.username or "root")
        if url.host or "unix_socket" in url.query:
            return url
        return url.set(host="localhost", query={**url.query, "unix_socket": MARIADB_SOCKET})

    def _has_account(self, connection: sa.Connection, name: str) -> bool:
        return _exists(connection, "SELECT 1 FROM mysql.user WHERE user = :name", name=name)

    def _create_account(self, connection: sa.Connection, name: str, password: str) -> None:
        _execute(connection, f"CREATE USER '{name}'@'%' IDENTIFIED BY :password", password=password)

    def _change_password(self, connection: sa.Connection, name: str, password: str) -> None:
        _execute(connection, f"ALTER USER '{name}'@'%' IDENTIFIED BY :password", password=password)

    def _restrict(
        self, steps: Steps, connection: sa.Connection, name: str, *, is_new: bool
    ) -> None:
        """Do nothing: only accounts with privileges on a database get in."""

    def _owner(self, connection: sa.Connection, database: str) -> str | None:
        """Return the account with privileges on a database; one without tables is free."""
        found = "SELECT 1 FROM information_schema.schemata WHERE schema_name = :name"
        if not _exists(connection, found, name=database):
            return None
        owners = sa.text("SELECT user FROM mysql.db WHERE db = :name")
        owner = connection.execute(owners, {"name": _escaped(database)}).scalar()
        tables = "SELECT 1 FROM information_schema.tables WHERE table_schema = :name LIMIT 1"
        if owner is None and not _exists(connection, tables, name=database):
            return None
        return str(owner or "")

    def _create_database(self, connection: sa.Connection, name: str, account: str) -> None:
        _execute(connection, f"CREATE DATABASE IF NOT EXISTS `{name}` CHARACTER SET utf8mb4")
        _execute(connection, f"GRANT ALL PRIVILEGES ON `{_escaped(name)}`.* TO '{account}'@'%'")

    def _drop_database(self, connection: sa.Connection, name: str) -> None:
        _execute(connection, f"DROP DATABASE `{name}`")

    def _drop_account(self, connection: sa.Connection, name: str) -> None:
        _execute(connection, f"DROP USER '{name}'@'%'")


_KINDS: dict[str, type[DatabaseServer]] = {
    "postgresql": PostgreSQL, "mysql": MariaDB, "mariadb": MariaDB,
}  # fmt: skip


def _foreign(database: str, account: str) -> exception.Conflict:
    return exception.Conflict(
        reason=f"the database {database} exists and is not of the account {account}. If it is of "
        "another deployment, give --prefix"
    )


def _escaped(name: str) -> str:
    """Return a database's name for GRANT, where ``_`` matches any character."""
    return name.replace("_", r"\_")


def _engine(url: URL) -> sa.Engine:
    return sa.create_engine(
        url,
        isolation_level="AUTOCOMMIT",
        poolclass=NullPool,
        hide_parameters=True,  # passwords are among them
        connect_args={"connect_timeout": _CONNECT_SECONDS},
    )


def _execute(connection: sa.Connection, statement: str, **values: Any) -> None:
    """Execute a statement on accounts or databases, whose names were checked."""
    connection.execute(sa.text(statement), values)


def _exists(connection: sa.Connection, statement: str, **values: Any) -> bool:
    return connection.execute(sa.text(statement), values).first() is not None
