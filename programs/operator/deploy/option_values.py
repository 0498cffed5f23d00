"""Values of ``armillary-manage deploy``'s options. Each raises ArgumentTypeError for a bad one."""

import re
from argparse import ArgumentTypeError
from pathlib import Path

from armillary.names.identifiers import is_host_name

_ADDRESS = re.compile(r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}")
_URL = re.compile(r"https?://[\w.:/\[\]-]+")
_PREFIX = re.compile(r"[a-z][a-z0-9-]{0,15}")
_CELL = re.compile(r"[a-z][a-z0-9_]{0,30}")


def address(text: str) -> str:
    """Return the host and port of a service that is elsewhere."""
    if not _ADDRESS.fullmatch(text) or not 0 < int(text.rpartition(":")[2]) < 65536:
        raise ArgumentTypeError(f"{text!r} is not an address such as 127.0.0.1:5672")
    return text


def url(text: str) -> str:
    """Return the address of an API."""
    if not _URL.fullmatch(text):
        raise ArgumentTypeError(f"{text!r} is not an address such as https://api.example.org:8774")
    return text


def prefix(text: str) -> str:
    """Return the prefix of the names of accounts and databases."""
    if text and not _PREFIX.fullmatch(text):
        raise ArgumentTypeError(
            f"{text!r} is not a prefix: at most 16 small letters, digits and -, a letter first"
        )
    return text


def cell_name(text: str) -> str:
    """Return the name of a cell."""
    if not _CELL.fullmatch(text) or text == "top":
        raise ArgumentTypeError(
            f"{text!r} is not a name for a cell: at most 31 small letters, digits and _, a letter "
            "first, and not top"
        )
    return text


def host_name(text: str) -> str:
    """Return the name of a host; it may be empty."""
    if text and not is_host_name(text):
        raise ArgumentTypeError(f"{text!r} is not a host's name: letters, digits and . _ : @ -")
    return text


def directory(text: str) -> Path:
    """Return a directory as an absolute path."""
    return Path(text).resolve()
