"""Classification of database errors: transient, unreachable, pool exhausted."""

from oslo_db import exception as oslo_exception
from sqlalchemy import exc

from armillary.logs.masking import mask_passwords

# PostgreSQL: serialisation failure, deadlock, lock not available. MySQL: lock wait timeout,
# deadlock, and MariaDB's changed record.
_TRANSIENT_SQLSTATES = frozenset({"40001", "40P01", "55P03"})
_TRANSIENT_MYSQL_CODES = frozenset({1020, 1205, 1213})
_TRANSIENT_SQLITE_TEXTS = (
    "database is locked",
    "database table is locked",
    "database schema is locked",
)

# PostgreSQL: connection exceptions (08), operator intervention (57P: shutdown, crash, starting up),
# too many connections (53300), idle in transaction (25P03). MySQL: cannot connect, gone away, lost,
# shutting down, too many connections, killed, not a cluster member.
_UNREACHABLE_SQLSTATE_PREFIXES = ("08", "57P", "53300", "25P03")
_UNREACHABLE_MYSQL_CODES = frozenset({1040, 1047, 1053, 1203, 1927, 2002, 2003, 2006, 2013, 2055})
_UNREACHABLE_TEXTS = (
    "connection to server",  # psycopg2 has no code for a failed connection
    "could not translate host name",
    "server closed the connection",
    "unable to open database file",
)


def is_transient(error: BaseException) -> bool:
    """Return whether the transaction lost to a concurrent one and can be retried."""
    if isinstance(error, oslo_exception.DBDeadlock):
        return True
    original = _original(error)
    if original is None:
        return False
    return (
        _sqlstate(original) in _TRANSIENT_SQLSTATES
        or _mysql_code(original) in _TRANSIENT_MYSQL_CODES
        or any(text in str(original) for text in _TRANSIENT_SQLITE_TEXTS)
    )


def is_unreachable(error: BaseException) -> bool:
    """Return whether the database was unreachable, or the connection was lost."""
    if isinstance(error, (oslo_exception.DBConnectionError, exc.DisconnectionError)):
        return True
    original = _original(error)
    if original is None:
        return False
    if isinstance(error, exc.DBAPIError) and error.connection_invalidated:
        return True
    return (
        (_sqlstate(original) or "").startswith(_UNREACHABLE_SQLSTATE_PREFIXES)
        or _mysql_code(original) in _UNREACHABLE_MYSQL_CODES
        or any(text in str(original) for text in _UNREACHABLE_TEXTS)
    )


def is_exhausted_pool(error: BaseException) -> bool:
    """Return whether no connection of the pool became free in time."""
    return isinstance(error, exc.TimeoutError)


def reason_of(error: BaseException) -> str:
    """Return an error's text in one line, that of a database without SQL and its parameters.

    Of a driver's text only the first line is used: further ones may quote the statement.
    """
    driver_error = _original(error)
    if driver_error is not None:
        text = str(driver_error).strip().partition("\n")[0]
    elif isinstance(error, exc.StatementError | oslo_exception.DBError):
        text = type(error).__name__
    else:
        text = str(error)
    return " ".join(mask_passwords(text).split())


def _original(error: BaseException) -> BaseException | None:
    """Return the driver's own error, wrapped by SQLAlchemy or oslo.db."""
    if isinstance(error, oslo_exception.DBError):
        error = error.inner_exception or error
    return error.orig if isinstance(error, exc.DBAPIError) else None


def _sqlstate(original: BaseException) -> str | None:
    return getattr(original, "pgcode", None)


def _mysql_code(original: BaseException) -> int | None:
    if not type(original).__module__.startswith("pymysql"):
        return None
    code = original.args[0] if original.args else None
    return code if isinstance(code, int) else None
