"""Classification of database errors: transient, unavailable, pool exhausted."""

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

# The server can be reached and takes no writes: after a failover the connections that are kept lead
# to what is a standby now. PostgreSQL's and MySQL's codes, MySQL's for its options and modes.
_READ_ONLY_SQLSTATE = "25006"
_READ_ONLY_MYSQL_CODES = frozenset({1290, 1792, 1836})

# PostgreSQL: connection exceptions (08), out of disk, memory or connections (53), operator
# intervention and time limits (57, 25P03, 25P04), errors of the system (58). MySQL: cannot connect,
# gone away, lost, shutting down, too many connections, killed, not a cluster member; out of disk or
# memory (1021, 1037, 1041, 1114), stopped by an operator or a time limit (1317, 1969, 3024).
_UNAVAILABLE_SQLSTATE_PREFIXES = ("08", "53", "57", "58", "25P03", "25P04", _READ_ONLY_SQLSTATE)
_UNAVAILABLE_MYSQL_CODES = _READ_ONLY_MYSQL_CODES | {
    1021, 1037, 1040, 1041, 1047, 1053, 1114, 1203, 1317, 1927, 1969, 2002, 2003, 2006, 2013, 2055,
    3024,
}  # fmt: skip
_UNAVAILABLE_TEXTS = (
    "connection to server",  # psycopg2 has no code for a failed connection
    "could not translate host name",
    "server closed the connection",
    "unable to open database file",
    "database or disk is full",
    "disk I/O error",
    "attempt to write a readonly database",
)

_VALUE_TEXTS = ("NUL (0x00)", "too large to convert to SQLite INTEGER")
"""What drivers say about values that they do not send, in errors of Python's own."""


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


def is_unavailable(error: BaseException) -> bool:
    """Return whether the database was out of reach, or could not do what it does at other times."""
    if isinstance(error, (oslo_exception.DBConnectionError, exc.DisconnectionError)):
        return True
    original = _original(error)
    if original is None:
        return False
    if isinstance(error, exc.DBAPIError) and error.connection_invalidated:
        return True
    return (
        (_sqlstate(original) or "").startswith(_UNAVAILABLE_SQLSTATE_PREFIXES)
        or _mysql_code(original) in _UNAVAILABLE_MYSQL_CODES
        or any(text in str(original) for text in _UNAVAILABLE_TEXTS)
    )


def is_read_only(error: BaseException) -> bool:
    """Return whether the server takes no writes on this connection; on a new one it may."""
    original = _original(error)
    if original is None:
        return False
    return (
        _sqlstate(original) == _READ_ONLY_SQLSTATE
        or _mysql_code(original) in _READ_ONLY_MYSQL_CODES
    )


def is_of_a_value(error: BaseException) -> bool:
    """Return whether a value cannot be stored: too long or large, a NUL, a lone surrogate."""
    if isinstance(error, oslo_exception.DBDataError | oslo_exception.DBInvalidUnicodeParameter):
        return True
    if isinstance(error, oslo_exception.DBError):
        error = error.inner_exception or error
    if isinstance(error, exc.DataError | UnicodeEncodeError):
        return True
    return isinstance(error, ValueError | OverflowError) and any(
        text in str(error) for text in _VALUE_TEXTS
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
