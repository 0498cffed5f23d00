"""The files for TLS that a database's URL names: looked at before the first connection.

A driver would find out when it connects, and what is wrong for ever would look like a database that
is away for a while.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from sqlalchemy.engine import URL

from armillary import exception

AUTHORITIES = ("sslrootcert", "ssl_ca")
OTHERS = ("sslcert", "sslkey", "sslcrl", "ssl_cert", "ssl_key")
_OF_THE_SYSTEM = "system"
"""What PostgreSQL's library takes instead of a file."""


def check_files(url: URL, name: str) -> None:
    """Raise ConfigurationError for a file that cannot be read or holds no authority."""
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
            f"The connection of the {name} database names {option}={path}, which cannot be used: "
            f"{reason}; a PEM file that this service may read is expected"
        ) from error
