"""A journal of the release before operations is brought up, and loses nothing."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from compute_agent.journal import journal_schema
from compute_agent.journal.command_log import Change, CommandLog
from compute_agent.journal.journal import Acceptance, Journal, State
from objects.instances.instance_command import InstanceCommand, Verb
from tests import builders

HOST = "h1"


def test_a_journal_of_version_2_is_brought_up_to_3(tmp_path: Path) -> None:
    """Its instances are there, and commands and the states of moves can be written."""
    instance = builders.an_instance(host=HOST, node=HOST, attempt=1)
    path = tmp_path / "journal.sqlite"
    with sqlite3.connect(path, isolation_level=None) as connection:
        for number, step in enumerate(journal_schema._STEPS[:2], 1):
            step(connection)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute(
            "INSERT INTO instances (host, uuid, attempt, state, vcpus, instance, place)"
            " VALUES (?, ?, 1, 'running', 7, ?, NULL)",
            (HOST, instance.uuid, json.dumps(instance.obj_to_primitive())),
        )
    connection.close()
    journal = Journal(path)
    journal.open()
    entry = journal.find(HOST, instance.uuid)
    assert entry is not None
    assert (entry.state, entry.vcpus, entry.former_place) == (State.RUNNING, 7, None)
    book = CommandLog(journal)
    command = InstanceCommand.from_values(
        instance=instance, host=HOST, operation="migrate", verb=Verb.DETACH.value, sequence=1
    )
    assert book.accept(command) is Acceptance.NEW
    assert book.finish(command, Change(state=State.LEAVING))
    assert [each.state for each in journal.list_entries()] == [State.LEAVING]
    journal.close()
