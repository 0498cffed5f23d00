"""The guests of all simulated hosts of one state directory, in a file that outlives the agent."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

from armillary import exception

_SCHEMA = """
CREATE TABLE IF NOT EXISTS guests (
    host TEXT NOT NULL,
    uuid TEXT NOT NULL,
    PRIMARY KEY (host, uuid)
) STRICT, WITHOUT ROWID;
"""


class SimulatedStore:
    """Which guests "run" on which simulated host; read from memory, written through. Thread-safe.

    A guest is a row and nothing else, so nothing is fsynced: killing the agent loses none, a power
    cut ends simulated guests like real ones.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._guests: dict[str, set[str]] = {}

    def open(self) -> None:
        """Read the file; once is enough, more often is fine. Raises ConfigurationError."""
        with self._lock:
            if self._connection is not None:
                return
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._connection = sqlite3.connect(
                    self._path, timeout=30.0, isolation_level=None, check_same_thread=False
                )
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = OFF")
                self._connection.executescript(_SCHEMA)
                rows = self._connection.execute("SELECT host, uuid FROM guests").fetchall()
            except (sqlite3.Error, OSError) as error:
                self._close()
                raise exception.ConfigurationError(
                    reason=f"the file of simulated guests {self._path} cannot be used ({error}); "
                    "remove it, and the simulated guests are gone"
                ) from error
            self._guests = {}
            for host, uuid in rows:
                self._guests.setdefault(host, set()).add(uuid)

    def add(self, host: str, uuid: str) -> None:
        """Note a guest; there already is fine."""
        with self._lock:
            self._execute("INSERT OR IGNORE INTO guests (host, uuid) VALUES (?, ?)", host, uuid)
            self._guests.setdefault(host, set()).add(uuid)

    def remove(self, host: str, uuid: str) -> None:
        """Drop a guest; none there is fine."""
        with self._lock:
            if uuid in self._guests.get(host, ()):
                self._execute("DELETE FROM guests WHERE host = ? AND uuid = ?", host, uuid)
                self._guests[host].discard(uuid)

    def list_uuids(self, host: str) -> list[str]:
        """Return the guests of a host, ordered."""
        with self._lock:
            return sorted(self._guests.get(host, ()))

    def close(self) -> None:
        """Let go of the file; more than once is fine."""
        with self._lock:
            self._close()

    def _execute(self, statement: str, host: str, uuid: str) -> None:
        if self._connection is None:
            raise exception.Unavailable(reason="the store of simulated guests is closed")
        self._connection.execute(statement, (host, uuid))

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
