"""SQLite files in memory: they are copied with the process, so that a fork goes its own way.

``install`` has every file that is opened from then on kept in memory under its path, until
``forget``.
"""

import sqlite3
from pathlib import Path
from typing import Any

_connect = sqlite3.connect
_kept: dict[str, sqlite3.Connection] = {}
"""One connection to each: a database in memory is gone when its last one is closed."""


def open_file(path: str | Path, *arguments: Any, **options: Any) -> sqlite3.Connection:
    """Do what ``sqlite3.connect`` does, for a file in memory."""
    kept(path)
    return _connect(_name(path), *arguments, **{**options, "uri": True})


def kept(path: str | Path) -> sqlite3.Connection:
    """Return the connection that no process uses, to look at a file from outside."""
    name = _name(path)
    if name not in _kept:
        _kept[name] = _connect(name, uri=True, isolation_level=None, check_same_thread=False)
        _kept[name].row_factory = sqlite3.Row
    return _kept[name]


def forget() -> None:
    """Let all files be gone; each process has closed its own."""
    for connection in _kept.values():
        connection.close()
    _kept.clear()


def install() -> None:
    sqlite3.connect = sqlite3.dbapi2.connect = open_file  # type: ignore[assignment]


def _name(path: str | Path) -> str:
    return f"file:{Path(path).absolute()}?vfs=memdb"
