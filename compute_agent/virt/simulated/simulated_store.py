"""Storage of all simulated guests of a state directory, in a file that outlives the agent."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from armillary import exception
from compute_agent.virt.simulated.simulated_guest import Event, Role, SimulatedGuest

VERSION = 1
"""The file's ``user_version``. Version 0 had only hosts and UUIDs: guests ran, without sizes."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS guests (
    host TEXT NOT NULL,
    uuid TEXT NOT NULL,
    PRIMARY KEY (host, uuid)
) STRICT, WITHOUT ROWID;
"""
_ADDED = (
    "role TEXT NOT NULL DEFAULT 'here'",
    "is_running INTEGER NOT NULL DEFAULT 1",
    "vcpus INTEGER NOT NULL DEFAULT 0",
    "memory_mb INTEGER NOT NULL DEFAULT 0",
    "disk_gb INTEGER NOT NULL DEFAULT 0",
    "source TEXT",
    "events TEXT NOT NULL DEFAULT '[]'",
)
_COLUMNS = ("host", "uuid", *(column.split(" ", 1)[0] for column in _ADDED))
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM guests"  # noqa: S608 - constants only
_PUT = (
    f"INSERT OR REPLACE INTO guests ({', '.join(_COLUMNS)}) "  # noqa: S608 - constants only
    f"VALUES ({', '.join('?' * len(_COLUMNS))})"
)
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
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._connection = sqlite3.connect(
                    self._path, timeout=30.0, isolation_level=None, check_same_thread=False
                )
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = OFF")
                _upgrade(self._connection)
                self._guests = _read(self._connection)
            except (sqlite3.Error, OSError, ValueError, TypeError) as error:
                self._close()
                raise exception.ConfigurationError(
                    reason=f"cannot use the file of simulated guests {self._path} ({error}); "
                    "remove it to start over without simulated guests"
                ) from error

    def find(self, host: str, uuid: str) -> SimulatedGuest | None:
        """Return a guest, or None."""
        with self._lock:
            return self._guests.get(host, {}).get(uuid)

    def list_guests(self, host: str) -> list[SimulatedGuest]:
        """Return the guests of a host, ordered by UUID."""
        with self._lock:
            guests = self._guests.get(host, {})
            return [guests[uuid] for uuid in sorted(guests)]

    def change(
        self,
        host: str,
        uuid: str,
        make: Callable[[SimulatedGuest | None], SimulatedGuest],
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


def _upgrade(connection: sqlite3.Connection) -> None:
    """Upgrade a new or older file to VERSION atomically. Raises ValueError for a newer version."""
    connection.execute("BEGIN IMMEDIATE")  # closing the file rolls back
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise ValueError(f"it has version {version}, but this release supports {VERSION}")
    if version < VERSION:
        connection.execute(_SCHEMA)
        for column in _ADDED:
            connection.execute(f"ALTER TABLE guests ADD COLUMN {column}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _read(connection: sqlite3.Connection) -> dict[str, dict[str, SimulatedGuest]]:
    guests: dict[str, dict[str, SimulatedGuest]] = {}
    for (
        host,
        uuid,
        role,
        is_running,
        vcpus,
        memory_mb,
        disk_gb,
        source,
        events,
    ) in connection.execute(_SELECT):
        guests.setdefault(host, {})[uuid] = SimulatedGuest(
            uuid=uuid,
            role=Role(role),
            is_running=bool(is_running),
            vcpus=vcpus,
            memory_mb=memory_mb,
            disk_gb=disk_gb,
            source=source,
            events=tuple((at, Event(event), size) for at, event, size in json.loads(events)),
        )
    return guests


def _row(host: str, guest: SimulatedGuest) -> tuple[Any, ...]:
    return (
        host, guest.uuid, guest.role.value, int(guest.is_running),
        guest.vcpus, guest.memory_mb, guest.disk_gb, guest.source, json.dumps(guest.events),
    )  # fmt: skip
