"""Rows of the journal: single statements used within transactions."""

import contextlib
import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from armillary import exception
from compute_agent.host.instance_summaries import image_pairs
from compute_agent.host.instance_topology import InstancePlacement, PlacementWanted
from compute_agent.journal.journal_entries import (
    ENTRY_COLUMNS,
    Entry,
    Kind,
    Result,
    State,
    entry_of,
)
from compute_agent.journal.journal_file import JournalFile
from objects.base import ArmillaryObject
from objects.instance import Instance
from objects.request_spec import RequestSpec

_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table'"


class JournalRows(JournalFile):
    """Statements for use within a transaction; the cursor's owner holds the journal's lock."""

    def find_in(self, cursor: sqlite3.Cursor, host: str, uuid: str) -> Entry | None:
        row = cursor.execute(
            f"SELECT {ENTRY_COLUMNS} FROM instances WHERE host = ? AND uuid = ?",  # noqa: S608
            (host, uuid),
        ).fetchone()
        return entry_of(row) if row else None

    def list_in(
        self, cursor: sqlite3.Cursor, host: str | None, states: Sequence[State]
    ) -> list[Entry]:
        marks = ", ".join("?" * len(states))
        rows = cursor.execute(
            f"SELECT {ENTRY_COLUMNS} FROM instances WHERE (? IS NULL OR host = ?)"  # noqa: S608
            f" AND state IN ({marks}) ORDER BY host, uuid",
            (host, host, *states),
        ).fetchall()
        return [entry_of(row) for row in rows]

    def fence_in(self, cursor: sqlite3.Cursor, uuid: str) -> tuple[int, int]:
        row = cursor.execute("SELECT seen, closed FROM fences WHERE uuid = ?", (uuid,)).fetchone()
        return (int(row[0]), int(row[1])) if row else (0, 0)

    def touch_in(
        self, cursor: sqlite3.Cursor, uuid: str, *, seen: int = 0, closed: int = 0
    ) -> None:
        """Record that an instance changed, and which attempts were seen or closed."""
        self._serial += 1
        cursor.execute(
            "INSERT INTO fences (uuid, seen, closed, serial, touched_at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (uuid) DO UPDATE SET seen = max(seen, excluded.seen),"
            " closed = max(closed, excluded.closed), serial = excluded.serial,"
            " touched_at = excluded.touched_at",
            (uuid, seen, closed, self._serial, self._clock()),
        )

    def put_in(
        self,
        cursor: sqlite3.Cursor,
        instance: Instance,
        host: str,
        state: State,
        *,
        request_spec: RequestSpec | None = None,
        is_dirty: bool = False,
        exit_code: int | None = None,
        place: InstancePlacement | None = None,
        former_place: InstancePlacement | None = None,
    ) -> None:
        """Write an instance's entry on a host, replacing an existing one."""
        flavor = instance.flavor
        image = instance.image
        cursor.execute(
            "INSERT OR REPLACE INTO instances (host, uuid, attempt, state, is_claimed, is_dirty,"
            " exit_code, vcpus, memory_mb, disk_gb, project_id, os_type, group_uuid, request_id,"
            " instance, request_spec, flavor_id, image_pairs, place_wanted, place, former_place)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                host, instance.uuid, instance.attempt, state, state is not State.BUILDING,
                is_dirty, exit_code, flavor.vcpus, flavor.memory_mb, instance.disk_gb,
                instance.project_id, image.properties.get("os_type") if image else None,
                _group_uuid(instance, request_spec), instance.request_id, _primitive(instance),
                _primitive(request_spec) if request_spec is not None else None,
                flavor.flavorid, json.dumps(image_pairs(image)), _wanted_text(request_spec),
                place_text(place), place_text(former_place),
            ),
        )  # fmt: skip

    def set_deleting_in(
        self, cursor: sqlite3.Cursor, host: str, uuid: str, *, is_silent: bool
    ) -> None:
        cursor.execute(
            "INSERT INTO instances (host, uuid, attempt, state, is_silent)"
            " VALUES (?, ?, 0, 'deleting', ?)"
            " ON CONFLICT (host, uuid)"
            " DO UPDATE SET state = 'deleting', is_silent = excluded.is_silent",
            (host, uuid, is_silent),
        )

    def update_build_in(
        self, cursor: sqlite3.Cursor, host: str, uuid: str, attempt: int, change: str, *values: Any
    ) -> bool:
        """Update an entry if it is still building this attempt."""
        cursor.execute(
            f"UPDATE instances SET {change}"  # noqa: S608 - never from outside
            " WHERE host = ? AND uuid = ? AND attempt = ? AND state = 'building'",
            (*values, host, uuid, attempt),
        )
        if not cursor.rowcount:
            return False
        self.touch_in(cursor, uuid)
        return True

    def set_failed_builds_in(self, cursor: sqlite3.Cursor, host: str, value: str) -> None:
        cursor.execute("INSERT OR IGNORE INTO hosts (host, failed_builds) VALUES (?, 0)", (host,))
        cursor.execute(
            f"UPDATE hosts SET failed_builds = {value} WHERE host = ?",  # noqa: S608 - a constant
            (host,),
        )

    def report_built_in(
        self, cursor: sqlite3.Cursor, host: str, uuid: str, attempt: int, power_state: str
    ) -> None:
        result = Result(power_state=power_state)
        self.report_in(cursor, Kind.BUILD_SUCCEEDED, host, uuid, attempt, result)

    def report_ended_in(
        self,
        cursor: sqlite3.Cursor,
        host: str,
        uuid: str,
        attempt: int,
        exit_code: int | None,
        reason: str | None = None,
    ) -> None:
        self._drop_power_in(cursor, host, uuid)
        result = Result(exit_code=exit_code, reason=reason)
        self.report_in(cursor, Kind.INSTANCE_ENDED, host, uuid, attempt, result)

    def report_power_in(
        self,
        cursor: sqlite3.Cursor,
        host: str,
        uuid: str,
        attempt: int,
        power_state: str,
        reason: str | None = None,
    ) -> None:
        self._drop_power_in(cursor, host, uuid)
        result = Result(power_state=power_state, reason=reason)
        self.report_in(cursor, Kind.POWER_CHANGED, host, uuid, attempt, result)

    def _drop_power_in(self, cursor: sqlite3.Cursor, host: str, uuid: str) -> None:
        """Remove earlier reports of its power state, which would be the last word otherwise."""
        cursor.execute(
            "DELETE FROM outbox WHERE host = ? AND uuid = ? AND kind IN (?, ?)",
            (host, uuid, Kind.INSTANCE_ENDED, Kind.POWER_CHANGED),
        )

    def report_in(
        self,
        cursor: sqlite3.Cursor,
        kind: Kind,
        host: str,
        uuid: str,
        attempt: int,
        result: Result,
        request_id: str | None = None,
    ) -> None:
        """Add a report unless an identical one is pending."""
        if request_id is None:
            entry = self.find_in(cursor, host, uuid)
            request_id = entry.request_id if entry is not None else None
        cursor.execute(
            "INSERT OR IGNORE INTO outbox (kind, host, uuid, attempt, request_id, result)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (kind, host, uuid, attempt, request_id, result.to_text()),
        )

    def is_reported_in(self, cursor: sqlite3.Cursor, host: str, uuid: str, kind: Kind) -> bool:
        """Return whether a report of this kind about an instance on a host waits to be sent."""
        query = "SELECT 1 FROM outbox WHERE host = ? AND uuid = ? AND kind = ?"
        return cursor.execute(query, (host, uuid, kind)).fetchone() is not None

    def drop_reports_in(
        self, cursor: sqlite3.Cursor, host: str, uuid: str, *, keep: Kind | None = None
    ) -> None:
        """Remove obsolete reports about an instance on a host, except the kind ``keep``."""
        cursor.execute(
            "DELETE FROM outbox WHERE host = ? AND uuid = ? AND kind IS NOT ?", (host, uuid, keep)
        )

    def drop_command_in(self, cursor: sqlite3.Cursor, host: str, uuid: str) -> None:
        """Close an obsolete command, whether it runs or not.

        Its sequence number is kept, so that delayed earlier commands are ignored.
        """
        cursor.execute(
            "UPDATE commands SET is_done = 1, result = NULL WHERE host = ? AND uuid = ?",
            (host, uuid),
        )

    def _read_all(self, cursor: sqlite3.Cursor) -> None:
        for (table,) in cursor.execute(_TABLES).fetchall():
            cursor.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - texts are decoded
        self.list_in(cursor, None, tuple(State))
        for texts in cursor.execute("SELECT instance, request_spec FROM instances").fetchall():
            for text in filter(None, texts):
                self.read_object(text)
        for kind, result in cursor.execute("SELECT kind, result FROM outbox").fetchall():
            Kind(kind)
            Result.from_text(result)
        for (body,) in cursor.execute("SELECT body FROM commands").fetchall():
            json.loads(body)

    def read_object(self, text: str) -> Any:
        """Return a deserialised object. Raises JournalCorrupt."""
        try:
            return ArmillaryObject.obj_from_primitive(json.loads(text))
        except Exception as error:
            raise self._corrupt(error) from error


def place_text(place: PlacementWanted | InstancePlacement | None) -> str | None:
    """Return a placement in serialised form."""
    return None if place is None or place.is_anywhere else json.dumps(place.to_plain())


def _group_uuid(instance: Instance, request_spec: RequestSpec | None) -> str | None:
    if request_spec is not None and request_spec.instance_group is not None:
        return request_spec.instance_group.uuid
    return instance.group_uuid


def _wanted_text(spec: RequestSpec | None) -> str | None:
    """Return a spec's NUMA and device requirements; an invalid spec fails later in its claim."""
    with contextlib.suppress(exception.Invalid, KeyError, TypeError, ValueError):
        return place_text(None if spec is None else PlacementWanted.of(spec))
    return None


def _primitive(item: ArmillaryObject) -> str:
    return json.dumps(item.obj_to_primitive())
