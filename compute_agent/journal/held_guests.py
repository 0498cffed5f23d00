"""Guests that the agent holds, in its journal, and those whose arrival is not confirmed."""

import json
from typing import cast

from compute_agent.journal.journal import Journal, Kind
from objects.base import ArmillaryObject
from objects.instances.instance_command import InstanceCommand, Verb

Key = tuple[str, str]
"""Host and instance UUID."""

ARRIVALS = frozenset({Verb.SPAWN.value, Verb.ATTACH.value})
"""Commands after which a guest runs here that may also run elsewhere, until they are answered."""


class HeldGuests:
    """Each public method is one transaction."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def list_held(self) -> list[Key]:
        with self._journal.reading() as cursor:
            return [(str(host), str(uuid)) for host, uuid in cursor.execute(
                "SELECT host, uuid FROM held ORDER BY host, uuid")]  # fmt: skip

    def add(self, host: str, uuid: str) -> None:
        with self._journal.transaction() as cursor:
            cursor.execute("INSERT OR IGNORE INTO held (host, uuid) VALUES (?, ?)", (host, uuid))

    def remove(self, host: str, uuid: str) -> None:
        with self._journal.transaction() as cursor:
            cursor.execute("DELETE FROM held WHERE host = ? AND uuid = ?", (host, uuid))

    def list_deleting(self) -> set[Key]:
        """Return guests that are being destroyed."""
        with self._journal.reading() as cursor:
            return {(str(host), str(uuid)) for host, uuid in cursor.execute(
                "SELECT host, uuid FROM instances WHERE state = 'deleting'"
            )}  # fmt: skip

    def list_arriving(self) -> list[Key]:
        """Return guests that are being built here, or moved here."""
        with self._journal.reading() as cursor:
            return [(str(host), str(uuid)) for host, uuid in cursor.execute(
                "SELECT host, uuid FROM instances WHERE state IN ('building', 'arriving')"
            )]  # fmt: skip

    def list_unconfirmed(self) -> list[Key]:
        """Return guests built here, or moved here, whose report was not accepted yet."""
        with self._journal.reading() as cursor:
            built = cursor.execute(
                "SELECT host, uuid FROM outbox WHERE kind = ?", (Kind.BUILD_SUCCEEDED.value,)
            ).fetchall()
            answered = cursor.execute(
                "SELECT commands.host, commands.uuid, commands.body FROM outbox JOIN commands"
                " ON commands.host = outbox.host AND commands.uuid = outbox.uuid"
                " AND commands.sequence = outbox.attempt WHERE outbox.kind = ?",
                (Kind.COMMAND_ANSWERED.value,),
            ).fetchall()
        arrived = [(host, uuid) for host, uuid, body in answered if _verb(body) in ARRIVALS]
        return sorted({*((str(host), str(uuid)) for host, uuid in built), *arrived})


def _verb(body: str) -> str:
    command = cast("InstanceCommand", ArmillaryObject.obj_from_primitive(json.loads(body)))
    return str(command.verb)
