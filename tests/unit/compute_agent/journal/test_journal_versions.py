"""A journal of an older release is brought up, and loses nothing."""

import sqlite3
from pathlib import Path

import pytest

from armillary import exception
from compute_agent.journal import journal_file
from compute_agent.journal.journal import Journal
from tests.fixtures.agent import HOSTS, a_build

A_STEP = ("ALTER TABLE instances ADD COLUMN shelf TEXT", "CREATE TABLE shelves (id INTEGER)")
"""What a later release might add."""


def test_a_journal_of_an_older_release_is_brought_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its instances are there, also when the upgrade failed in the middle before."""
    path = tmp_path / "journal.sqlite"
    older = Journal(path)
    older.open()
    older.accept_builds([a_build()])
    kept = older.list_entries()
    older.close()
    monkeypatch.setattr(journal_file, "STEPS", (*journal_file.STEPS, (*A_STEP, "BROKEN")))
    with pytest.raises(exception.JournalCorrupt, match="BROKEN"):
        Journal(path).open()
    monkeypatch.setattr(journal_file, "STEPS", (*journal_file.STEPS[:-1], A_STEP))
    newer = Journal(path)
    newer.open()
    assert newer.list_entries(host=HOSTS[0]) == kept != []
    newer.close()
    with sqlite3.connect(path) as connection:
        assert journal_file.version_of(connection) == len(journal_file.STEPS)
        assert connection.execute("SELECT shelf FROM instances").fetchall() == [(None,)]
    connection.close()
