"""What an agent was told to do, written down before it is done, and what it has yet to report.

A SQLite file; each public method is one transaction. An entry is an instance on one host (one agent
may carry two hosts on which two attempts of the same instance are at once); a fence remembers the
attempts of an instance that were seen here, also after the entry is gone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import fcntl
import functools
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from armillary import exception
from compute_agent import journal_schema
from compute_agent.instance_facts import image_pairs
from compute_agent.instance_place import InstancePlace, PlaceWanted
from objects.base import ArmillaryObject
from objects.instance import Instance
from objects.instance_fault import InstanceFault
from objects.request_spec import RequestSpec

LOG = logging.getLogger(__name__)

NO_FURTHER_ATTEMPT = 2**31 - 1
"""A fence that is closed up to here belongs to an instance that was deleted."""
FENCE_KEEP_SECONDS = 7 * 86400.0
BUSY_TIMEOUT_SECONDS = 30.0
TEXTS_CACHED_MAX = 4096
"""Entries are read often, and what is in them changes seldom."""

_ENTRY_COLUMNS = (
    "host, uuid, attempt, state, is_claimed, is_dirty, is_silent, exit_code, vcpus, memory_mb,"
    " disk_gb, project_id, os_type, group_uuid, request_id, flavor_id, image_pairs, place_wanted,"
    " place, former_place"
)


class State(enum.StrEnum):
    """Where an instance stands on its host."""

    BUILDING = "building"
    RUNNING = "running"
    DELETING = "deleting"
    ENDED = "ended"
    """It is off, by wish or because it ended by itself."""
    ARRIVING = "arriving"
    """Its resources are set aside, and its guest is on its way here, or is made here."""
    LEAVING = "leaving"
    """It is off here, or on its way, and may still come back."""


class Kind(enum.StrEnum):
    """What a report tells the cell conductor; the names of its methods."""

    BUILD_SUCCEEDED = "build_succeeded"
    BUILD_FAILED = "build_failed"
    INSTANCE_DELETED = "instance_deleted"
    INSTANCE_ENDED = "instance_ended"
    ORDER_ANSWERED = "order_answered"
    """In such a report the sequence of the order stands in the place of the attempt."""


class Acceptance(enum.Enum):
    """What became of an order to build."""

    NEW = "new"
    """It is written down; build it."""
    REPEATED = "repeated"
    """It is known, with an entry."""
    OVER = "over"
    """It was known, and nothing of it is left here: it failed, and that was answered."""
    IGNORED = "ignored"
    """A later attempt, a delete or an order to forget was here first."""


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """An instance on one host, without its big parts.

    ``is_claimed``: the late checks are passed. ``is_dirty``: something of an older attempt may
    still be there. ``is_silent``: its end is not reported. ``place`` says where on the host
    it sits, once it is claimed and unless it sits anywhere; ``place_wanted`` what it asked for.
    """

    host: str
    instance_uuid: str
    attempt: int
    state: State
    is_claimed: bool
    is_dirty: bool
    is_silent: bool
    exit_code: int | None
    vcpus: int
    memory_mb: int
    disk_gb: int
    project_id: str | None
    os_type: str | None
    group_uuid: str | None
    request_id: str | None
    flavor_id: str | None = None
    image_pairs: tuple[str, ...] = ()
    """Properties of its image, each as "name=value"."""
    place_wanted: PlaceWanted | None = None
    place: InstancePlace | None = None
    former_place: InstancePlace | None = None
    """Where it sat before it was resized here, as long as it may go back."""

    @property
    def key(self) -> tuple[str, str]:
        return self.host, self.instance_uuid

    def is_resized_from(self, instance: Instance) -> bool:
        """Whether it has another flavor here than this one."""
        flavor = instance.flavor
        sizes = (flavor.flavorid, flavor.vcpus, flavor.memory_mb, flavor.disk_gb)
        return sizes != (self.flavor_id, self.vcpus, self.memory_mb, self.disk_gb)


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """Something not answered yet; ``payload`` are the method's own arguments."""

    id: int
    kind: Kind
    host: str
    instance_uuid: str
    attempt: int
    request_id: str | None
    payload: dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """The journal at one moment. ``serials`` tells later whether an instance was touched since."""

    entries: dict[tuple[str, str], Entry]
    serials: dict[str, int]
    unreported: frozenset[str]
    """UUIDs of instances with a report that was not answered."""


class Journal:
    """The journal of one agent, in one file; safe to use from several threads.

    Not fsynced at every step (WAL, synchronous=NORMAL): nothing is lost when the process is killed.
    When the machine loses power the last steps may be, but then its guests are gone, too, and the
    agent and its conductor compare notes at start.
    """

    def __init__(self, path: str | Path, clock: Callable[[], float] = time.time) -> None:
        self._path = Path(path)
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._owner_fd: int | None = None
        self._serial = 0

    def open(self) -> None:
        """Open or make it. Raises JournalCorrupt with the way out, ConfigurationError if used."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._become_owner()
            self._connection = self._connect()
            self._serial = self._last_serial(self._connection)
        except exception.ArmillaryError:
            self.close()
            raise
        except Exception as error:  # of SQLite, of the system, of an object that cannot be read
            self.close()
            raise self._corrupt(error) from error

    def close(self) -> None:
        """Let go of the file; nothing is unsaved."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            if self._owner_fd is not None:
                os.close(self._owner_fd)
                self._owner_fd = None

    # Orders from the cell conductor ---------------------------------------------------------------

    def accept_build(self, instance: Instance, request_spec: RequestSpec) -> Acceptance:
        """Write down an order to build an instance on its host, as its attempt."""
        host, uuid, attempt = str(instance.host), instance.uuid, instance.attempt
        with self.transaction() as cursor:
            seen, closed = self._fence(cursor, uuid)
            if attempt <= closed or attempt < seen:
                return Acceptance.IGNORED
            entry = self.find_in(cursor, host, uuid)
            if entry is not None and entry.attempt == attempt:
                return Acceptance.REPEATED
            if entry is None and attempt == seen:
                return Acceptance.OVER
            self.put_in(
                cursor,
                instance,
                host,
                State.BUILDING,
                request_spec=request_spec,
                is_dirty=entry is not None,
            )
            self._drop_reports(cursor, host, uuid)
            self.touch_in(cursor, uuid, seen=attempt)
            return Acceptance.NEW

    def begin_delete(self, host: str, uuid: str) -> None:
        """Write down that the instance is to be destroyed, and that this is to be reported."""
        with self.transaction() as cursor:
            self._set_deleting(cursor, host, uuid, is_silent=False)
            self._drop_reports(cursor, host, uuid)
            self._drop_order(cursor, host, uuid)
            self.touch_in(cursor, uuid, closed=NO_FURTHER_ATTEMPT)

    def begin_forget(self, host: str, uuid: str, attempt: int) -> bool:
        """Write down that what is left of an attempt is to be destroyed in silence.

        Returns whether there is something to do: a later attempt is left alone, and a delete stays
        one.
        """
        with self.transaction() as cursor:
            self.touch_in(cursor, uuid, seen=attempt, closed=attempt)
            entry = self.find_in(cursor, host, uuid)
            if entry is not None and entry.attempt > attempt:
                return False
            if entry is None or entry.state is not State.DELETING:
                self._set_deleting(cursor, host, uuid, is_silent=True)
                self._drop_reports(cursor, host, uuid)
                self._drop_order(cursor, host, uuid)
            return True

    # Steps of the work ----------------------------------------------------------------------------

    def claim(self, host: str, uuid: str, attempt: int, place: InstancePlace | None = None) -> bool:
        """Note that a build passed its late checks and where it is to sit.

        False when it is not to be built now.
        """
        with self.transaction() as cursor:
            return self._update_build(
                cursor, host, uuid, attempt, "is_claimed = 1, place = ?", _place_text(place)
            )

    def note_clean(self, host: str, uuid: str, attempt: int) -> bool:
        """Note that nothing of an older attempt is left; false when it is not to be built now."""
        with self.transaction() as cursor:
            return self._update_build(cursor, host, uuid, attempt, "is_dirty = 0")

    def finish_build(
        self, host: str, uuid: str, attempt: int, *, power_state: str, exit_code: int | None = None
    ) -> bool:
        """Note and report a success; false when the build was overtaken, and its guest has to go.

        A guest that has ended already is reported as built, then as ended.
        """
        has_ended = power_state != "running"
        with self.transaction() as cursor:
            state = State.ENDED if has_ended else State.RUNNING
            if not self._update_build(
                cursor, host, uuid, attempt, "state = ?, exit_code = ?", state, exit_code
            ):
                return False
            self._report_built(cursor, host, uuid, attempt, power_state)
            if has_ended:
                self._report_ended(cursor, host, uuid, attempt, exit_code)
            self._set_failed_builds(cursor, host, "0")
            return True

    def fail_build(
        self,
        host: str,
        uuid: str,
        attempt: int,
        *,
        fault: InstanceFault,
        retry: bool,
        is_counted: bool,
    ) -> bool:
        """Note and report a failure, the host's own if ``is_counted``; false when overtaken."""
        with self.transaction() as cursor:
            entry = self.find_in(cursor, host, uuid)
            if entry is None or entry.state is not State.BUILDING or entry.attempt != attempt:
                return False
            cursor.execute("DELETE FROM instances WHERE host = ? AND uuid = ?", (host, uuid))
            payload = {"fault": fault.obj_to_primitive(), "retry": retry}
            self.report_in(
                cursor, Kind.BUILD_FAILED, host, uuid, attempt, payload, entry.request_id
            )
            if is_counted:
                self._set_failed_builds(cursor, host, "failed_builds + 1")
            self.touch_in(cursor, uuid)
            return True

    def refuse_build(self, instance: Instance, fault: InstanceFault) -> None:
        """Report a build that never became an entry as failed; another host may try."""
        payload = {"fault": fault.obj_to_primitive(), "retry": True}
        with self.transaction() as cursor:
            self.report_in(
                cursor, Kind.BUILD_FAILED, str(instance.host), instance.uuid, instance.attempt,
                payload, instance.request_id,
            )  # fmt: skip
            self.touch_in(cursor, instance.uuid, seen=instance.attempt)

    def end(self, host: str, uuid: str, attempt: int, exit_code: int | None) -> bool:
        """Note and report that a running guest ended by itself.

        False when it was not running, or an order in hand is why it ended.
        """
        with self.transaction() as cursor:
            cursor.execute(
                "UPDATE instances SET state = 'ended', exit_code = ?"
                " WHERE host = ? AND uuid = ? AND attempt = ? AND state = 'running'"
                " AND NOT EXISTS (SELECT 1 FROM orders WHERE orders.host = instances.host"
                " AND orders.uuid = instances.uuid AND NOT is_done)",
                (exit_code, host, uuid, attempt),
            )
            if not cursor.rowcount:
                return False
            self._report_ended(cursor, host, uuid, attempt, exit_code)
            self.touch_in(cursor, uuid)
            return True

    def settle(self, host: str, uuid: str, exit_code: int | None, *, has_ended: bool) -> None:
        """Note that an instance which was on its way is in its place."""
        with self.transaction() as cursor:
            cursor.execute(
                "UPDATE instances SET state = ?, exit_code = ? WHERE host = ? AND uuid = ?"
                " AND state IN ('arriving', 'leaving')",
                (State.ENDED if has_ended else State.RUNNING, exit_code, host, uuid),
            )
            self.touch_in(cursor, uuid)

    def finish_delete(self, host: str, uuid: str) -> None:
        """Note that nothing is left of an instance, and report it unless it is silent."""
        with self.transaction() as cursor:
            entry = self.find_in(cursor, host, uuid)
            if entry is None or entry.state is not State.DELETING:
                return
            cursor.execute("DELETE FROM instances WHERE host = ? AND uuid = ?", (host, uuid))
            if not entry.is_silent:
                self.report_in(
                    cursor, Kind.INSTANCE_DELETED, host, uuid, entry.attempt, {}, entry.request_id
                )
            self.touch_in(cursor, uuid)

    def report_again(self, host: str, uuid: str, attempt: int) -> bool:
        """Report once more how a build went; false when it is under way or gone."""
        with self.transaction() as cursor:
            entry = self.find_in(cursor, host, uuid)
            if entry is None or entry.attempt != attempt:
                return False
            if entry.state not in (State.RUNNING, State.ENDED):
                return False
            has_ended = entry.state is State.ENDED
            power_state = "shutdown" if has_ended else "running"
            self._report_built(cursor, host, uuid, attempt, power_state)
            if has_ended:
                self._report_ended(cursor, host, uuid, attempt, entry.exit_code)
            return True

    def adopt(
        self,
        instance: Instance,
        *,
        has_ended: bool,
        exit_code: int | None,
        reports: Sequence[Kind],
        place: InstancePlace | None = None,
    ) -> None:
        """Take over an instance that the conductor has here and the journal does not know.

        ``place`` is where the driver says that it sits.
        """
        host, uuid, attempt = str(instance.host), instance.uuid, instance.attempt
        with self.transaction() as cursor:
            if self.find_in(cursor, host, uuid) is not None:
                return
            state = State.ENDED if has_ended else State.RUNNING
            self.put_in(cursor, instance, host, state, exit_code=exit_code, place=place)
            if Kind.BUILD_SUCCEEDED in reports:
                self._report_built(
                    cursor, host, uuid, attempt, "shutdown" if has_ended else "running"
                )
            if Kind.INSTANCE_ENDED in reports:
                self._report_ended(cursor, host, uuid, attempt, exit_code)
            self.touch_in(cursor, uuid, seen=attempt)

    # Reading --------------------------------------------------------------------------------------

    def find(self, host: str, uuid: str) -> Entry | None:
        """Return the entry of an instance on a host."""
        with self.transaction() as cursor:
            return self.find_in(cursor, host, uuid)

    def list_entries(
        self, *, host: str | None = None, states: Sequence[State] = tuple(State)
    ) -> list[Entry]:
        """Return entries in these states, of one host or of all, ordered by host and UUID."""
        with self.transaction() as cursor:
            return self._list(cursor, host, states)

    def get_build(self, host: str, uuid: str) -> tuple[Instance, RequestSpec]:
        """Return what is to be built. Raises InstanceNotFound."""
        with self.transaction() as cursor:
            row = cursor.execute(
                "SELECT instance, request_spec FROM instances WHERE host = ? AND uuid = ?"
                " AND instance IS NOT NULL AND request_spec IS NOT NULL",
                (host, uuid),
            ).fetchone()
        if row is None:
            raise exception.InstanceNotFound(instance_uuid=uuid)
        return self._object(row[0]), self._object(row[1])

    def list_instances(self, host: str) -> list[Instance]:
        """Return the instances that are built, or being built, on a host."""
        with self.transaction() as cursor:
            rows = cursor.execute(
                "SELECT instance FROM instances WHERE host = ? AND instance IS NOT NULL"
                " AND state != 'deleting' ORDER BY uuid",
                (host,),
            ).fetchall()
        return [self._object(row[0]) for row in rows]

    def snapshot(self) -> Snapshot:
        """Return the whole journal at one moment, without the big parts."""
        with self.transaction() as cursor:
            entries = self._list(cursor, None, tuple(State))
            serials = dict(cursor.execute("SELECT uuid, serial FROM fences").fetchall())
            unreported = cursor.execute("SELECT DISTINCT uuid FROM outbox").fetchall()
        return Snapshot(
            entries={entry.key: entry for entry in entries},
            serials=serials,
            unreported=frozenset(row[0] for row in unreported),
        )

    def serial(self, uuid: str) -> int:
        """Return a number that grows with every change to an instance; 0 if unknown."""
        with self.transaction() as cursor:
            row = cursor.execute("SELECT serial FROM fences WHERE uuid = ?", (uuid,)).fetchone()
        return int(row[0]) if row else 0

    def builds_in_hand(self) -> dict[str, int]:
        """Return instance -> attempt of builds whose end the conductor has not answered yet."""
        with self.transaction() as cursor:
            rows = cursor.execute(
                "SELECT uuid, attempt FROM instances WHERE state = 'building' UNION "
                "SELECT uuid, attempt FROM outbox WHERE kind IN ('build_succeeded', 'build_failed')"
            ).fetchall()
        builds: dict[str, int] = {}
        for uuid, attempt in rows:
            builds[uuid] = max(attempt, builds.get(uuid, 0))
        return builds

    def failed_builds(self, host: str) -> int:
        """Return how many builds in a row failed on a host."""
        with self.transaction() as cursor:
            row = cursor.execute(
                "SELECT failed_builds FROM hosts WHERE host = ?", (host,)
            ).fetchone()
        return int(row[0]) if row else 0

    # Outbox ---------------------------------------------------------------------------------------

    def next_reports(self, limit: int, *, skip: Sequence[str] = ()) -> list[Report]:
        """Return the oldest report of each instance that is not in ``skip``, the oldest first."""
        marks = ", ".join("?" * len(skip))
        with self.transaction() as cursor:
            rows = cursor.execute(
                "SELECT id, kind, host, uuid, attempt, request_id, payload FROM outbox"  # noqa: S608
                f" WHERE id IN (SELECT min(id) FROM outbox WHERE uuid NOT IN ({marks})"
                " GROUP BY uuid) ORDER BY id LIMIT ?",
                (*skip, limit),
            ).fetchall()
        return [
            Report(id_, Kind(kind), host, uuid, attempt, request_id, json.loads(payload))
            for id_, kind, host, uuid, attempt, request_id, payload in rows
        ]

    def remove_report(self, report: Report) -> None:
        """Drop a report that was answered."""
        with self.transaction() as cursor:
            cursor.execute("DELETE FROM outbox WHERE id = ?", (report.id,))
            self.touch_in(cursor, report.instance_uuid)

    def prune(self) -> int:
        """Drop fences of instances that nobody has heard of for long; return how many."""
        with self.transaction() as cursor:
            cursor.execute(
                "DELETE FROM fences WHERE touched_at < ? AND uuid NOT IN"
                " (SELECT uuid FROM instances UNION SELECT uuid FROM outbox)",
                (self._clock() - FENCE_KEEP_SECONDS,),
            )
            count = cursor.rowcount
            cursor.execute(
                "DELETE FROM orders WHERE is_done AND uuid NOT IN (SELECT uuid FROM fences)"
            )
            return count

    # Within a transaction -------------------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Cursor]:
        """Lend a cursor; all is written when the block ends, nothing when it raises."""
        with self._lock:
            if self._connection is None:
                raise exception.Unavailable(reason="the journal is closed")
            cursor = self._connection.cursor()
            cursor.execute("BEGIN IMMEDIATE")
            try:
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    cursor.execute("ROLLBACK")
                raise
            finally:
                cursor.close()

    def find_in(self, cursor: sqlite3.Cursor, host: str, uuid: str) -> Entry | None:
        """Return the entry of an instance on a host."""
        row = cursor.execute(
            f"SELECT {_ENTRY_COLUMNS} FROM instances WHERE host = ? AND uuid = ?",  # noqa: S608
            (host, uuid),
        ).fetchone()
        return _entry(row) if row else None

    def _list(
        self, cursor: sqlite3.Cursor, host: str | None, states: Sequence[State]
    ) -> list[Entry]:
        marks = ", ".join("?" * len(states))
        rows = cursor.execute(
            f"SELECT {_ENTRY_COLUMNS} FROM instances WHERE (? IS NULL OR host = ?)"  # noqa: S608
            f" AND state IN ({marks}) ORDER BY host, uuid",
            (host, host, *states),
        ).fetchall()
        return [_entry(row) for row in rows]

    def _fence(self, cursor: sqlite3.Cursor, uuid: str) -> tuple[int, int]:
        row = cursor.execute("SELECT seen, closed FROM fences WHERE uuid = ?", (uuid,)).fetchone()
        return (int(row[0]), int(row[1])) if row else (0, 0)

    def touch_in(
        self, cursor: sqlite3.Cursor, uuid: str, *, seen: int = 0, closed: int = 0
    ) -> None:
        """Note that something of an instance changed, and which attempts were seen or closed."""
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
        place: InstancePlace | None = None,
        former_place: InstancePlace | None = None,
    ) -> None:
        """Write the entry of an instance on a host, in place of the one that is there."""
        flavor = instance.flavor
        image = instance.image
        cursor.execute(
            "INSERT OR REPLACE INTO instances (host, uuid, attempt, state, is_claimed, is_dirty,"
            " exit_code, vcpus, memory_mb, disk_gb, project_id, os_type, group_uuid, request_id,"
            " instance, request_spec, flavor_id, image_pairs, place_wanted, place, former_place)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                host, instance.uuid, instance.attempt, state, state is not State.BUILDING,
                is_dirty, exit_code, flavor.vcpus, flavor.memory_mb, flavor.disk_gb,
                instance.project_id, image.properties.get("os_type") if image else None,
                _group_uuid(instance, request_spec), instance.request_id, _primitive(instance),
                _primitive(request_spec) if request_spec is not None else None,
                flavor.flavorid, json.dumps(image_pairs(image)), _wanted_text(request_spec),
                _place_text(place), _place_text(former_place),
            ),
        )  # fmt: skip

    def _set_deleting(
        self, cursor: sqlite3.Cursor, host: str, uuid: str, *, is_silent: bool
    ) -> None:
        cursor.execute(
            "INSERT INTO instances (host, uuid, attempt, state, is_silent)"
            " VALUES (?, ?, 0, 'deleting', ?)"
            " ON CONFLICT (host, uuid)"
            " DO UPDATE SET state = 'deleting', is_silent = excluded.is_silent",
            (host, uuid, is_silent),
        )

    def _update_build(
        self, cursor: sqlite3.Cursor, host: str, uuid: str, attempt: int, change: str, *values: Any
    ) -> bool:
        """Change an entry if it is still this attempt's and being built."""
        cursor.execute(
            f"UPDATE instances SET {change}"  # noqa: S608 - never from outside
            " WHERE host = ? AND uuid = ? AND attempt = ? AND state = 'building'",
            (*values, host, uuid, attempt),
        )
        if not cursor.rowcount:
            return False
        self.touch_in(cursor, uuid)
        return True

    def _set_failed_builds(self, cursor: sqlite3.Cursor, host: str, value: str) -> None:
        cursor.execute("INSERT OR IGNORE INTO hosts (host, failed_builds) VALUES (?, 0)", (host,))
        cursor.execute(
            f"UPDATE hosts SET failed_builds = {value} WHERE host = ?",  # noqa: S608 - a constant
            (host,),
        )

    def _report_built(
        self, cursor: sqlite3.Cursor, host: str, uuid: str, attempt: int, power_state: str
    ) -> None:
        payload = {"power_state": power_state}
        self.report_in(cursor, Kind.BUILD_SUCCEEDED, host, uuid, attempt, payload)

    def _report_ended(
        self, cursor: sqlite3.Cursor, host: str, uuid: str, attempt: int, exit_code: int | None
    ) -> None:
        payload = {"exit_code": exit_code}
        self.report_in(cursor, Kind.INSTANCE_ENDED, host, uuid, attempt, payload)

    def report_in(
        self,
        cursor: sqlite3.Cursor,
        kind: Kind,
        host: str,
        uuid: str,
        attempt: int,
        payload: dict[str, Any],
        request_id: str | None = None,
    ) -> None:
        """Add a report unless the same one waits already."""
        if request_id is None:
            entry = self.find_in(cursor, host, uuid)
            request_id = entry.request_id if entry is not None else None
        cursor.execute(
            "INSERT OR IGNORE INTO outbox (kind, host, uuid, attempt, request_id, payload)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (kind, host, uuid, attempt, request_id, json.dumps(payload)),
        )

    def _drop_reports(self, cursor: sqlite3.Cursor, host: str, uuid: str) -> None:
        """Drop what was to be said of an instance on a host and is of no interest any more."""
        cursor.execute("DELETE FROM outbox WHERE host = ? AND uuid = ?", (host, uuid))

    def _drop_order(self, cursor: sqlite3.Cursor, host: str, uuid: str) -> None:
        """Drop an order that is of no interest any more, whether it is in hand or not."""
        cursor.execute("DELETE FROM orders WHERE host = ? AND uuid = ?", (host, uuid))

    def _object(self, text: str) -> Any:
        try:
            return ArmillaryObject.obj_from_primitive(json.loads(text))
        except Exception as error:
            raise self._corrupt(error) from error

    # Opening --------------------------------------------------------------------------------------

    def _become_owner(self) -> None:
        """Hold a lock for as long as this process lives and has the journal open."""
        path = self._path.with_name(self._path.name + ".lock")
        self._owner_fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._owner_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise exception.ConfigurationError(
                reason=f"another agent uses the journal {self._path}; give each agent a "
                "state_path, or a [compute] journal, of its own"
            ) from error

    def _connect(self) -> sqlite3.Connection:
        self._path.touch(0o600)  # before SQLite does, which gives the files beside it the same mode
        connection = sqlite3.connect(
            self._path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            self._check(connection)
            journal_schema.bring_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _last_serial(self, connection: sqlite3.Connection) -> int:
        return int(connection.execute("SELECT coalesce(max(serial), 0) FROM fences").fetchone()[0])

    def _check(self, connection: sqlite3.Connection) -> None:
        problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if problem != "ok":
            raise exception.JournalCorrupt(path=str(self._path), reason=problem)
        version = journal_schema.version_of(connection)
        if version > journal_schema.SCHEMA_VERSION:
            raise exception.JournalCorrupt(
                path=str(self._path), reason=f"a newer release wrote it, version {version}"
            )

    def _corrupt(self, error: Exception) -> exception.JournalCorrupt:
        facts = {"path": str(self._path), "reason": f"{type(error).__name__}: {error}"}
        if isinstance(error, PermissionError) or "readonly" in str(error):
            return exception.JournalCorrupt(
                f"The journal {self._path} cannot be written ({facts['reason']}). Give its "
                "directory and files to the agent's user, or set [compute] journal elsewhere.",
                **facts,
            )
        return exception.JournalCorrupt(**facts)


@functools.lru_cache(maxsize=TEXTS_CACHED_MAX)
def _pairs(text: str | None) -> tuple[str, ...]:
    return tuple(json.loads(text)) if text else ()


@functools.lru_cache(maxsize=TEXTS_CACHED_MAX)
def _place_wanted(text: str | None) -> PlaceWanted | None:
    return PlaceWanted.from_plain(json.loads(text)) if text else None


@functools.lru_cache(maxsize=TEXTS_CACHED_MAX)
def _place(text: str | None) -> InstancePlace | None:
    return InstancePlace.from_plain(json.loads(text)) if text else None


_ENTRY_FIELDS = tuple(field.name for field in dataclasses.fields(Entry))
"""In the order of the columns."""
_READERS: dict[str, Callable[[Any], Any]] = {
    "state": State,
    "is_claimed": bool,
    "is_dirty": bool,
    "is_silent": bool,
    "image_pairs": _pairs,
    "place_wanted": _place_wanted,
    "place": _place,
    "former_place": _place,
}


def _entry(row: tuple[Any, ...]) -> Entry:
    values = dict(zip(_ENTRY_FIELDS, row, strict=True))
    for name, read in _READERS.items():
        values[name] = read(values[name])
    return Entry(**values)


def _place_text(place: PlaceWanted | InstancePlace | None) -> str | None:
    return None if place is None or place.is_anywhere else json.dumps(place.to_plain())


def _group_uuid(instance: Instance, request_spec: RequestSpec | None) -> str | None:
    if request_spec is not None and request_spec.instance_group is not None:
        return request_spec.instance_group.uuid
    return instance.group_uuid


def _wanted_text(spec: RequestSpec | None) -> str | None:
    """Return what a spec asks of cells and devices; one that cannot be read fails at its claim."""
    with contextlib.suppress(exception.Invalid, KeyError, TypeError, ValueError):
        return _place_text(None if spec is None else PlaceWanted.of(spec))
    return None


def _primitive(item: ArmillaryObject) -> str:
    return json.dumps(item.obj_to_primitive())
