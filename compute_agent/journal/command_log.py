"""Command log: operation commands in the agent's journal, from receipt to answer.

There is one command per instance and host, the latest. The changes that a command makes to the
instance's entry are written in the same transaction as its answer.
"""

import dataclasses
import enum
import json
import sqlite3
from typing import cast

from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.journal.journal import (
    NO_FURTHER_ATTEMPT,
    Acceptance,
    Entry,
    Journal,
    Kind,
    Result,
    State,
)
from objects.base import ArmillaryObject
from objects.instance import Instance
from objects.instances.instance_command import NO_ANSWER, CommandAnswer, InstanceCommand
from objects.instances.instance_fault import NUMBER_USED, InstanceFault
from objects.request_spec import RequestSpec

Key = tuple[str, str]
"""Host and instance UUID."""


class Signal(enum.StrEnum):
    """What users tell a live migration; the value is the argument of a command that is told so."""

    ABORT = "is_aborted"
    FORCE = "is_forced"
    """Complete it immediately."""


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """A change of an entry; None leaves a value unchanged.

    ``instance`` sets flavor, image and attempt. ``is_gone`` removes the entry. ``place`` is the new
    placement; ``keeps_former`` also keeps the previous one, ``drops_former`` releases it.
    """

    state: State | None = None
    instance: Instance | None = None
    request_spec: RequestSpec | None = None
    place: InstancePlacement | None = None
    exit_code: int | None = None
    is_gone: bool = False
    keeps_former: bool = False
    drops_former: bool = False


NO_CHANGE = Change()


class CommandLog:
    """Commands in the journal; each public method is one transaction."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def accept(self, command: InstanceCommand) -> Acceptance:
        """Record a command; report the answer again if it was already answered.

        A number that was given to another command, or is lower than the last one, is reported as
        used. Either the command is late, and the conductor does not wait for it; or its database
        was restored from a backup, and it gives the command a new number.
        """
        host, uuid = command.host, command.instance.uuid
        with self._journal.transaction() as cursor:
            row = cursor.execute(
                "SELECT sequence, is_done, result, body FROM commands WHERE host = ? AND uuid = ?",
                (host, uuid),
            ).fetchone()
            if row is not None and _is_number_used(row, command):
                self._report_used(cursor, command, row[0])
                return Acceptance.OVER
            is_dropped = row is not None and row[1] and row[2] is None
            if row is not None and command.sequence == row[0] and not is_dropped:
                if not row[1]:
                    return Acceptance.REPEATED
                self._report(cursor, command, Result.from_text(row[2]))
                return Acceptance.OVER
            entry = self._journal.find_in(cursor, host, uuid)
            if entry is not None and entry.state is State.DELETING:
                return Acceptance.IGNORED
            if entry is None and self._is_deleted(cursor, uuid):
                return Acceptance.IGNORED
            cursor.execute(
                "INSERT OR REPLACE INTO commands (host, uuid, sequence, body) VALUES (?, ?, ?, ?)",
                (host, uuid, command.sequence, json.dumps(command.obj_to_primitive())),
            )
            self._journal.touch_in(cursor, uuid)
            return Acceptance.NEW

    def find_open(self, host: str, uuid: str) -> InstanceCommand | None:
        with self._journal.transaction() as cursor:
            row = cursor.execute(
                "SELECT body FROM commands WHERE host = ? AND uuid = ? AND NOT is_done",
                (host, uuid),
            ).fetchone()
        return None if row is None else _command(row[0])

    def list_open(self) -> list[Key]:
        """Return host and instance of the pending commands."""
        with self._journal.transaction() as cursor:
            return list(
                cursor.execute("SELECT host, uuid FROM commands WHERE NOT is_done").fetchall()
            )

    def signal(self, host: str, uuid: str, sequence: int, signal: Signal) -> bool:
        """Record a signal to a command; False if it is not pending."""
        with self._journal.transaction() as cursor:
            cursor.execute(
                "UPDATE commands SET is_aborted = is_aborted OR ?, is_forced = is_forced OR ?"
                " WHERE host = ? AND uuid = ? AND sequence = ? AND NOT is_done",
                (signal is Signal.ABORT, signal is Signal.FORCE, host, uuid, sequence),
            )
            return bool(cursor.rowcount)

    def is_aborted(self, command: InstanceCommand) -> bool:
        """Return whether a command was aborted or is no longer pending."""
        with self._journal.transaction() as cursor:
            row = cursor.execute(
                "SELECT is_aborted FROM commands"
                " WHERE host = ? AND uuid = ? AND sequence = ? AND NOT is_done",
                (command.host, command.instance.uuid, command.sequence),
            ).fetchone()
        return row is None or bool(row[0])

    def is_forced(self, command: InstanceCommand) -> bool:
        """Return whether a pending command is to be completed immediately."""
        with self._journal.transaction() as cursor:
            row = cursor.execute(
                "SELECT is_forced FROM commands"
                " WHERE host = ? AND uuid = ? AND sequence = ? AND NOT is_done",
                (command.host, command.instance.uuid, command.sequence),
            ).fetchone()
        return row is not None and bool(row[0])

    def change(self, command: InstanceCommand, change: Change) -> bool:
        """Record an intermediate change of a command; False if it was superseded."""
        with self._journal.transaction() as cursor:
            if not self._is_open(cursor, command):
                return False
            self._apply(cursor, command, change)
            self._journal.touch_in(cursor, command.instance.uuid)
            return True

    def finish(
        self,
        command: InstanceCommand,
        change: Change,
        *,
        answer: CommandAnswer = NO_ANSWER,
        fault: InstanceFault | None = None,
    ) -> bool:
        """Record and report the result of a command; False if another superseded it."""
        result = Result(answer=answer, fault=fault)
        with self._journal.transaction() as cursor:
            if not self._is_open(cursor, command):
                return False
            self._apply(cursor, command, change)
            cursor.execute(
                "UPDATE commands SET is_done = 1, result = ? WHERE host = ? AND uuid = ?",
                (result.to_text(), command.host, command.instance.uuid),
            )
            self._report(cursor, command, result)
            self._journal.touch_in(cursor, command.instance.uuid)
            return True

    def drop(self, command: InstanceCommand) -> None:
        """Close an obsolete command; its number is kept, so earlier ones are ignored."""
        with self._journal.transaction() as cursor:
            cursor.execute(
                "UPDATE commands SET is_done = 1, result = NULL"
                " WHERE host = ? AND uuid = ? AND sequence = ? AND NOT is_done",
                (command.host, command.instance.uuid, command.sequence),
            )
            self._journal.touch_in(cursor, command.instance.uuid)

    def refuse(self, command: InstanceCommand, fault: InstanceFault) -> None:
        """Report a command that was not recorded as failed."""
        with self._journal.transaction() as cursor:
            self._report(cursor, command, Result(fault=fault))

    def _report_used(self, cursor: sqlite3.Cursor, command: InstanceCommand, last: int) -> None:
        fault = InstanceFault.from_values(
            instance_uuid=command.instance.uuid, host=command.host, code=NUMBER_USED,
            message="The host has seen a later command.",
            details=f"command {command.sequence} comes after command {last}",
        )  # fmt: skip
        self._report(cursor, command, Result(answer=CommandAnswer(last_number=last), fault=fault))

    def _is_deleted(self, cursor: sqlite3.Cursor, uuid: str) -> bool:
        """Return whether the command's instance was already deleted."""
        row = cursor.execute("SELECT closed FROM fences WHERE uuid = ?", (uuid,)).fetchone()
        return row is not None and row[0] >= NO_FURTHER_ATTEMPT

    def _is_open(self, cursor: sqlite3.Cursor, command: InstanceCommand) -> bool:
        row = cursor.execute(
            "SELECT 1 FROM commands WHERE host = ? AND uuid = ? AND sequence = ? AND NOT is_done",
            (command.host, command.instance.uuid, command.sequence),
        ).fetchone()
        return row is not None

    def _apply(self, cursor: sqlite3.Cursor, command: InstanceCommand, change: Change) -> None:
        host, uuid = command.host, command.instance.uuid
        entry = self._journal.find_in(cursor, host, uuid)
        if change.is_gone:
            cursor.execute("DELETE FROM instances WHERE host = ? AND uuid = ?", (host, uuid))
            return
        if change.instance is not None:
            self._put(cursor, entry, change, host)
        elif change.state is not None:
            cursor.execute(
                "UPDATE instances SET state = ?, exit_code = ? WHERE host = ? AND uuid = ?",
                (change.state, change.exit_code, host, uuid),
            )
        if change.drops_former:
            cursor.execute(
                "UPDATE instances SET former_place = NULL WHERE host = ? AND uuid = ?", (host, uuid)
            )

    def _put(self, cursor: sqlite3.Cursor, entry: Entry | None, change: Change, host: str) -> None:
        assert change.instance is not None
        state = change.state or (entry.state if entry is not None else State.ENDED)
        place = change.place or (entry.place if entry is not None else None)
        former = None if entry is None else entry.former_place
        if entry is not None and change.keeps_former:
            former = former or entry.place
        self._journal.put_in(
            cursor,
            change.instance,
            host,
            state,
            request_spec=change.request_spec,
            exit_code=change.exit_code,
            place=place,
            former_place=former,
        )

    def _report(self, cursor: sqlite3.Cursor, command: InstanceCommand, result: Result) -> None:
        self._journal.report_in(
            cursor, Kind.COMMAND_ANSWERED, command.host, command.instance.uuid, command.sequence,
            result, command.instance.request_id,
        )  # fmt: skip


def _is_number_used(row: tuple[int, int, str | None, str], command: InstanceCommand) -> bool:
    """Return whether the number of a command was given to a later or to another one."""
    sequence, is_done, _result, body = row
    if command.sequence != sequence or not is_done:
        return bool(command.sequence < sequence)
    former = _command(body)
    return (former.verb, former.operation, former.instance.attempt) != (
        command.verb, command.operation, command.instance.attempt,
    )  # fmt: skip


def _command(text: str) -> InstanceCommand:
    return cast("InstanceCommand", ArmillaryObject.obj_from_primitive(json.loads(text)))
