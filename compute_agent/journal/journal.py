"""The agent's journal: commands recorded before they are executed, and reports still to be sent.

Each public method is one transaction. An entry is an instance on one host, because an agent may
manage two hosts with two attempts of the same instance. A fence records the attempts of an instance
seen here, even after the entry is gone.
"""

import sqlite3
from collections.abc import Sequence

from armillary import exception
from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.journal.journal_entries import Acceptance as Acceptance
from compute_agent.journal.journal_entries import Entry as Entry
from compute_agent.journal.journal_entries import Kind as Kind
from compute_agent.journal.journal_entries import Report as Report
from compute_agent.journal.journal_entries import Result as Result
from compute_agent.journal.journal_entries import Snapshot as Snapshot
from compute_agent.journal.journal_entries import State as State
from compute_agent.journal.journal_rows import JournalRows, place_text
from compute_agent.virt.driver import RUNNING
from objects.instance import Instance
from objects.instances.instance_fault import InstanceFault
from objects.request_spec import RequestSpec

NO_FURTHER_ATTEMPT = 2**31 - 1
"""Fence value of a deleted instance: no further attempt is accepted."""
FENCE_KEEP_SECONDS = 7 * 86400.0


class Journal(JournalRows):
    """The journal of one agent, in one file. Thread-safe."""

    # Commands from the cell conductor -------------------------------------------------------------

    def accept_builds(self, builds: Sequence[tuple[Instance, RequestSpec]]) -> list[Acceptance]:
        """Record several build commands in one transaction; return whether each was accepted."""
        with self.transaction() as cursor:
            return [self._accept_build(cursor, instance, spec) for instance, spec in builds]

    def _accept_build(
        self, cursor: sqlite3.Cursor, instance: Instance, request_spec: RequestSpec
    ) -> Acceptance:
        host, uuid, attempt = str(instance.host), instance.uuid, instance.attempt
        seen, closed = self.fence_in(cursor, uuid)
        if attempt <= closed or attempt < seen:
            return Acceptance.IGNORED
        entry = self.find_in(cursor, host, uuid)
        if entry is not None and entry.attempt == attempt:
            return Acceptance.REPEATED
        if entry is None and attempt == seen:
            return Acceptance.OVER
        self.put_in(
            cursor, instance, host, State.BUILDING,
            request_spec=request_spec, is_dirty=entry is not None,
        )  # fmt: skip
        self.drop_reports_in(cursor, host, uuid)
        self.touch_in(cursor, uuid, seen=attempt)
        return Acceptance.NEW

    def begin_delete(self, host: str, uuid: str) -> None:
        """Record that the instance is to be destroyed and the deletion reported."""
        with self.transaction() as cursor:
            self.set_deleting_in(cursor, host, uuid, is_silent=False)
            self.drop_reports_in(cursor, host, uuid)
            self.drop_command_in(cursor, host, uuid)
            self.touch_in(cursor, uuid, closed=NO_FURTHER_ATTEMPT)

    def begin_forget(self, host: str, uuid: str, attempt: int) -> bool:
        """Record that the remains of an attempt are to be destroyed without a report.

        Returns whether there is something to do. A later attempt is left alone, and a reported
        delete is not downgraded. Nothing is left where the instance has no entry and the report of
        its delete waits to be sent: the conductor waits for that report, so it stays.
        """
        with self.transaction() as cursor:
            self.touch_in(cursor, uuid, seen=attempt, closed=attempt)
            entry = self.find_in(cursor, host, uuid)
            if entry is not None and entry.attempt > attempt:
                return False
            if entry is None and self.is_reported_in(cursor, host, uuid, Kind.INSTANCE_DELETED):
                return False
            if entry is None or entry.state is not State.DELETING:
                self.set_deleting_in(cursor, host, uuid, is_silent=True)
                if entry is None:  # a waiting answer, or command, is about something else
                    self.drop_reports_in(cursor, host, uuid, keep=Kind.COMMAND_ANSWERED)
                else:
                    self.drop_reports_in(cursor, host, uuid)
                    self.drop_command_in(cursor, host, uuid)
            return True

    # Progress -------------------------------------------------------------------------------------

    def claim(
        self, host: str, uuid: str, attempt: int, place: InstancePlacement | None = None
    ) -> bool:
        """Record that a build passed the claim, and its placement on the host.

        False if the build is obsolete.
        """
        with self.transaction() as cursor:
            return self.update_build_in(
                cursor, host, uuid, attempt, "is_claimed = 1, place = ?", place_text(place)
            )

    def note_clean(self, host: str, uuid: str, attempt: int) -> bool:
        """Record that nothing of an older attempt is left; False if the build is obsolete."""
        with self.transaction() as cursor:
            return self.update_build_in(cursor, host, uuid, attempt, "is_dirty = 0")

    def note_dirty(self, host: str, uuid: str, attempt: int) -> bool:
        """Record that something of a build is left; False if the build is obsolete."""
        with self.transaction() as cursor:
            return self.update_build_in(cursor, host, uuid, attempt, "is_dirty = 1")

    def finish_build(
        self, host: str, uuid: str, attempt: int, *, power_state: str, exit_code: int | None = None
    ) -> bool:
        """Record and report a successful build; False if it was superseded.

        The caller must destroy the guest of a superseded build. A guest that has already stopped is
        reported as built, then as stopped.
        """
        has_ended = power_state == "shutdown"
        with self.transaction() as cursor:
            state = State.ENDED if has_ended else State.RUNNING
            if not self.update_build_in(
                cursor, host, uuid, attempt, "state = ?, exit_code = ?", state, exit_code
            ):
                return False
            self.report_built_in(cursor, host, uuid, attempt, power_state)
            if has_ended:
                self.report_ended_in(cursor, host, uuid, attempt, exit_code)
            self.set_failed_builds_in(cursor, host, "0")
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
        """Record and report a failure, counted for the host if asked; False if superseded."""
        with self.transaction() as cursor:
            entry = self.find_in(cursor, host, uuid)
            if entry is None or entry.state is not State.BUILDING or entry.attempt != attempt:
                return False
            cursor.execute("DELETE FROM instances WHERE host = ? AND uuid = ?", (host, uuid))
            result = Result(fault=fault, retry=retry)
            self.report_in(cursor, Kind.BUILD_FAILED, host, uuid, attempt, result, entry.request_id)
            if is_counted:
                self.set_failed_builds_in(cursor, host, "failed_builds + 1")
            self.touch_in(cursor, uuid)
            return True

    def refuse_build(self, instance: Instance, fault: InstanceFault) -> None:
        """Report a rejected build, which never became an entry, as failed; it may be retried."""
        result = Result(fault=fault, retry=True)
        with self.transaction() as cursor:
            self.report_in(
                cursor, Kind.BUILD_FAILED, str(instance.host), instance.uuid, instance.attempt,
                result, instance.request_id,
            )  # fmt: skip
            self.touch_in(cursor, instance.uuid, seen=instance.attempt)

    def end(
        self, host: str, uuid: str, attempt: int, exit_code: int | None, reason: str | None = None
    ) -> bool:
        """Record and report that a running guest stopped by itself, and why if that is known.

        False if it was not running, or if a pending command is the reason.
        """
        with self.transaction() as cursor:
            cursor.execute(
                "UPDATE instances SET state = 'ended', exit_code = ?"
                " WHERE host = ? AND uuid = ? AND attempt = ? AND state = 'running'"
                " AND NOT EXISTS (SELECT 1 FROM commands WHERE commands.host = instances.host"
                " AND commands.uuid = instances.uuid AND NOT is_done)",
                (exit_code, host, uuid, attempt),
            )
            if not cursor.rowcount:
                return False
            self.report_ended_in(cursor, host, uuid, attempt, exit_code, reason)
            self.touch_in(cursor, uuid)
            return True

    def note_power(
        self, host: str, uuid: str, attempt: int, power_state: str, reason: str | None
    ) -> bool:
        """Record and report that a guest runs, or is paused, and why if that is known.

        False if the attempt is another, or if a pending command or the agent's own hold may be the
        reason.
        """
        with self.transaction() as cursor:
            cursor.execute(
                "UPDATE instances SET state = 'running', exit_code = NULL"
                " WHERE host = ? AND uuid = ? AND attempt = ? AND state IN ('running', 'ended')"
                " AND NOT EXISTS (SELECT 1 FROM commands WHERE commands.host = instances.host"
                " AND commands.uuid = instances.uuid AND NOT is_done)"
                " AND NOT EXISTS (SELECT 1 FROM held WHERE held.host = instances.host"
                " AND held.uuid = instances.uuid)",
                (host, uuid, attempt),
            )
            if not cursor.rowcount:
                return False
            self.report_power_in(cursor, host, uuid, attempt, power_state, reason)
            self.touch_in(cursor, uuid)
            return True

    def settle(self, host: str, uuid: str, exit_code: int | None, *, has_ended: bool) -> None:
        """Record that an instance in transit has come to rest on this host."""
        with self.transaction() as cursor:
            cursor.execute(
                "UPDATE instances SET state = ?, exit_code = ? WHERE host = ? AND uuid = ?"
                " AND state IN ('arriving', 'leaving')",
                (State.ENDED if has_ended else State.RUNNING, exit_code, host, uuid),
            )
            self.touch_in(cursor, uuid)

    def finish_delete(self, host: str, uuid: str) -> None:
        """Record that nothing is left of an instance; report it unless the entry is silent."""
        with self.transaction() as cursor:
            entry = self.find_in(cursor, host, uuid)
            if entry is None or entry.state is not State.DELETING:
                return
            cursor.execute("DELETE FROM instances WHERE host = ? AND uuid = ?", (host, uuid))
            if not entry.is_silent:
                self.report_in(
                    cursor, Kind.INSTANCE_DELETED, host, uuid, entry.attempt, Result(),
                    entry.request_id,
                )  # fmt: skip
            self.touch_in(cursor, uuid)

    def report_again(self, host: str, uuid: str, attempt: int) -> bool:
        """Report the result of a build again; False if it is unfinished or gone."""
        with self.transaction() as cursor:
            entry = self.find_in(cursor, host, uuid)
            if entry is None or entry.attempt != attempt:
                return False
            if entry.state not in (State.RUNNING, State.ENDED):
                return False
            has_ended = entry.state is State.ENDED
            power_state = "shutdown" if has_ended else "running"
            self.report_built_in(cursor, host, uuid, attempt, power_state)
            if has_ended:
                self.report_ended_in(cursor, host, uuid, attempt, entry.exit_code)
            return True

    def adopt(
        self,
        instance: Instance,
        *,
        has_ended: bool,
        exit_code: int | None,
        reports: Sequence[Kind],
        place: InstancePlacement | None = None,
    ) -> None:
        """Add an instance that the conductor expects here but the journal does not know.

        ``place`` is its placement as reported by the driver.
        """
        host, uuid, attempt = str(instance.host), instance.uuid, instance.attempt
        with self.transaction() as cursor:
            if self.find_in(cursor, host, uuid) is not None:
                return
            state = State.ENDED if has_ended else State.RUNNING
            self.put_in(cursor, instance, host, state, exit_code=exit_code, place=place)
            if Kind.BUILD_SUCCEEDED in reports:
                self.report_built_in(
                    cursor, host, uuid, attempt, "shutdown" if has_ended else "running"
                )
            if Kind.INSTANCE_ENDED in reports:
                self.report_ended_in(cursor, host, uuid, attempt, exit_code)
            if Kind.POWER_CHANGED in reports:
                self.report_power_in(cursor, host, uuid, attempt, RUNNING)
            self.touch_in(cursor, uuid, seen=attempt)

    def renew(
        self,
        instance: Instance,
        *,
        has_ended: bool,
        exit_code: int | None,
        place: InstancePlacement | None = None,
    ) -> None:
        """Replace an entry that is older than the conductor's record, and what it still had to say.

        An instance that is active there and has ended here is reported.
        """
        host, uuid, attempt = str(instance.host), instance.uuid, instance.attempt
        with self.transaction() as cursor:
            self.drop_reports_in(cursor, host, uuid)
            self.drop_command_in(cursor, host, uuid)
            state = State.ENDED if has_ended else State.RUNNING
            self.put_in(cursor, instance, host, state, exit_code=exit_code, place=place)
            if has_ended and instance.vm_state == "active":
                self.report_ended_in(cursor, host, uuid, attempt, exit_code)
            self.touch_in(cursor, uuid, seen=attempt)

    # Reading --------------------------------------------------------------------------------------

    def find(self, host: str, uuid: str) -> Entry | None:
        with self.transaction() as cursor:
            return self.find_in(cursor, host, uuid)

    def list_entries(
        self, *, host: str | None = None, states: Sequence[State] = tuple(State)
    ) -> list[Entry]:
        """Return entries in these states, of one host or of all, ordered by host and UUID."""
        with self.transaction() as cursor:
            return self.list_in(cursor, host, states)

    def list_running(self) -> dict[str, dict[str, int]]:
        """Return host -> instance -> attempt of running instances; much cheaper than entries."""
        with self.reading() as cursor:
            rows = cursor.execute(
                "SELECT host, uuid, attempt FROM instances WHERE state = 'running'"
                " ORDER BY host, uuid"
            ).fetchall()
        running: dict[str, dict[str, int]] = {}
        for host, uuid, attempt in rows:
            running.setdefault(host, {})[uuid] = attempt
        return running

    def list_ended(self) -> dict[tuple[str, str], int]:
        """Return (host, instance) -> attempt of instances that are off."""
        with self.reading() as cursor:
            rows = cursor.execute(
                "SELECT host, uuid, attempt FROM instances WHERE state = 'ended'"
            ).fetchall()
        return {(host, uuid): attempt for host, uuid, attempt in rows}

    def get_build(self, host: str, uuid: str) -> tuple[Instance, RequestSpec]:
        """Return the instance and spec of a build. Raises InstanceNotFound."""
        with self.transaction() as cursor:
            row = cursor.execute(
                "SELECT instance, request_spec FROM instances WHERE host = ? AND uuid = ?"
                " AND instance IS NOT NULL AND request_spec IS NOT NULL",
                (host, uuid),
            ).fetchone()
        if row is None:
            raise exception.InstanceNotFound(instance_uuid=uuid)
        return self.read_object(row[0]), self.read_object(row[1])

    def list_instances(self, host: str) -> list[Instance]:
        """Return the instances that are built or being built on a host."""
        with self.transaction() as cursor:
            rows = cursor.execute(
                "SELECT instance FROM instances WHERE host = ? AND instance IS NOT NULL"
                " AND state != 'deleting' ORDER BY uuid",
                (host,),
            ).fetchall()
        return [self.read_object(row[0]) for row in rows]

    def snapshot(self) -> Snapshot:
        """Return a consistent snapshot of the journal, without objects."""
        with self.transaction() as cursor:
            entries = self.list_in(cursor, None, tuple(State))
            serials = dict(cursor.execute("SELECT uuid, serial FROM fences").fetchall())
            unreported = cursor.execute("SELECT DISTINCT uuid FROM outbox").fetchall()
        return Snapshot(
            entries={entry.key: entry for entry in entries},
            serials=serials,
            unreported=frozenset(row[0] for row in unreported),
        )

    def serial(self, uuid: str) -> int:
        """Return a number that increases with every change of an instance; 0 if unknown."""
        with self.transaction() as cursor:
            row = cursor.execute("SELECT serial FROM fences WHERE uuid = ?", (uuid,)).fetchone()
        return int(row[0]) if row else 0

    def unfinished_builds(self) -> dict[str, int]:
        """Return instance -> attempt of builds that are unfinished or not acknowledged."""
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
        """Return the number of consecutive failed builds on a host."""
        with self.transaction() as cursor:
            row = cursor.execute(
                "SELECT failed_builds FROM hosts WHERE host = ?", (host,)
            ).fetchone()
        return int(row[0]) if row else 0

    # Outbox ---------------------------------------------------------------------------------------

    def next_reports(self, limit: int, *, skip: Sequence[str] = ()) -> list[Report]:
        """Return the oldest report of each instance not in ``skip``, oldest first."""
        marks = ", ".join("?" * len(skip))
        with self.transaction() as cursor:
            rows = cursor.execute(
                "SELECT id, kind, host, uuid, attempt, request_id, result FROM outbox"  # noqa: S608
                f" WHERE id IN (SELECT min(id) FROM outbox WHERE uuid NOT IN ({marks})"
                " GROUP BY uuid) ORDER BY id LIMIT ?",
                (*skip, limit),
            ).fetchall()
        return [
            Report(id_, Kind(kind), host, uuid, attempt, request_id, Result.from_text(result))
            for id_, kind, host, uuid, attempt, request_id, result in rows
        ]

    def remove_reports(self, reports: Sequence[Report]) -> None:
        with self.transaction() as cursor:
            for report in reports:
                cursor.execute("DELETE FROM outbox WHERE id = ?", (report.id,))
                self.touch_in(cursor, report.instance_uuid)

    def prune(self) -> int:
        """Remove fences of instances without recent changes; return how many."""
        with self.transaction() as cursor:
            cursor.execute(
                "DELETE FROM fences WHERE touched_at < ? AND uuid NOT IN"
                " (SELECT uuid FROM instances UNION SELECT uuid FROM outbox)",
                (self._clock() - FENCE_KEEP_SECONDS,),
            )
            count = cursor.rowcount
            cursor.execute(
                "DELETE FROM commands WHERE is_done AND uuid NOT IN (SELECT uuid FROM fences)"
            )
            return count
