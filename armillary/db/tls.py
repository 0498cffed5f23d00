"""Validation of the TLS files named by a database URL, before the first connection.

The driver would only find out when it connects, and a permanent mistake would look like a temporary
outage.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from sqlalchemy.engine import URL

from armillary import exception

AUTHORITIES = ("sslrootcert", "ssl_ca")
OTHERS = ("sslcert", "sslkey", "sslcrl", "ssl_cert", "ssl_key")
_OF_THE_SYSTEM = "system"
"""PostgreSQL's keyword for the system's authorities."""


def check_files(url: URL, name: str) -> None:
    """Raise ConfigurationError for a file that is unreadable or contains no authority."""
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
