"""Storage of all simulated guests of a state directory, in a file that outlives the agent."""

import json
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from armillary import exception
from armillary.files import private_files
from compute_agent.virt.simulated.simulated_guest import Event, Role, SimulatedGuest

VERSION = 1
"""The file's ``user_version``; 0 is a new file."""
_SCHEMA = """
CREATE TABLE guests (
    host TEXT NOT NULL,
    uuid TEXT NOT NULL,
    role TEXT NOT NULL,
    power_state TEXT NOT NULL,
    vcpus INTEGER NOT NULL,
    memory_mb INTEGER NOT NULL,
    disk_gb INTEGER NOT NULL,
    source TEXT,
    events TEXT NOT NULL,
    PRIMARY KEY (host, uuid)
) STRICT, WITHOUT ROWID;
"""
_SELECT = (
    "SELECT host, uuid, role, power_state, vcpus, memory_mb, disk_gb, source, events FROM guests"
)
_PUT = "INSERT OR REPLACE INTO guests VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM guests WHERE host = ? AND uuid = ?"


class SimulatedStore:
    """Guests by simulated host: read from memory, written through. Thread-safe.

    Nothing is fsynced: killing the agent loses no guest, and a power failure ends simulated guests
    like real ones. Each change is a single statement and thus atomic.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()  # a change may read another guest
        self._connection: sqlite3.Connection | None = None
        self._guests: dict[str, dict[str, SimulatedGuest]] = {}

    def open(self) -> None:
        """Read the file; idempotent. Raises ConfigurationError."""
        with self._lock:
            if self._connection is not None:
                return
            try:
                private_files.make_directory(self._path.parent)
                private_files.prepare_sqlite(self._path)
                self._connection = sqlite3.connect(
                    self._path, timeout=30.0, isolation_level=None, check_same_thread=False
                )
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = OFF")
                _create(self._connection)
                self._guests = _read(self._connection)
            except (sqlite3.Error, OSError, ValueError, TypeError) as error:
                self._close()
                raise exception.ConfigurationError(
                    reason=f"cannot use the file of simulated guests {self._path} ({error}); "
                    "remove it to start over without simulated guests"
                ) from error

    def find(self, host: str, uuid: str) -> SimulatedGuest | None:
        with self._lock:
            return self._guests.get(host, {}).get(uuid)

    def list_guests(self, host: str) -> list[SimulatedGuest]:
        """Return the guests of a host, ordered by UUID."""
        with self._lock:
            guests = self._guests.get(host, {})
            return [guests[uuid] for uuid in sorted(guests)]

    def change(
        self, host: str, uuid: str, make: Callable[[SimulatedGuest | None], SimulatedGuest]
    ) -> SimulatedGuest:
        """Replace a guest by ``make(guest)``; return the new one.

        The change is atomic. If ``make`` raises, nothing changes.
        """
        with self._lock:
            before = self.find(host, uuid)
            after = make(before)
            if after != before:
                self._execute(_PUT, _row(host, after))
                self._guests.setdefault(host, {})[uuid] = after
            return after

    def remove(self, host: str, uuid: str) -> None:
        """Remove a guest; a missing one is ignored."""
        with self._lock:
            if uuid in self._guests.get(host, {}):
                self._execute(_DELETE, (host, uuid))
                del self._guests[host][uuid]

    def close(self) -> None:
        """Close the file; idempotent."""
        with self._lock:
            self._close()

    def _execute(self, statement: str, values: tuple[Any, ...]) -> None:
        if self._connection is None:
            raise exception.Unavailable(reason="the store of simulated guests is closed")
        self._connection.execute(statement, values)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _create(connection: sqlite3.Connection) -> None:
    """Create the table in a new file, atomically. Raises ValueError for a newer version."""
    connection.execute("BEGIN IMMEDIATE")  # closing the file rolls back
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise ValueError(f"it has version {version}, but this release supports {VERSION}")
    if version < VERSION:
        connection.execute(_SCHEMA)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _read(connection: sqlite3.Connection) -> dict[str, dict[str, SimulatedGuest]]:
    guests: dict[str, dict[str, SimulatedGuest]] = {}
    for host, uuid, role, power_state, *sizes, source, events in connection.execute(_SELECT):
        vcpus, memory_mb, disk_gb = sizes
        noted = tuple((at, Event(event), size) for at, event, size in json.loads(events))
        guests.setdefault(host, {})[uuid] = SimulatedGuest(
            uuid, Role(role), power_state, vcpus, memory_mb, disk_gb, source, noted
        )
    return guests


def _row(host: str, guest: SimulatedGuest) -> tuple[Any, ...]:
    return (
        host, guest.uuid, guest.role.value, guest.power_state,
        guest.vcpus, guest.memory_mb, guest.disk_gb, guest.source, json.dumps(guest.events),
    )  # fmt: skip
