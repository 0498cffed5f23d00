"""Tests of storing what is still to be done for instances that are gone, on every engine."""

from __future__ import annotations

from armillary.db import Database
from conductor.super_conductor.db import cleanups
from conductor.super_conductor.db.cleanups import Cleanup, CleanupKind

CELL = "c0ffee00-0000-4000-8000-000000000001"
ONE = "00000000-0000-4000-8000-000000000001"


def test_a_delete_and_a_release_are_done_each_by_itself(any_api_database: Database) -> None:
    """One of them done leaves the other."""
    with any_api_database.writer() as session:
        cleanups.add_releases(session, [ONE], {"user_id": "u1"})
        cleanups.add_deletes(session, [ONE], CELL, {"user_id": "u1"})
        cleanups.add_deletes(session, [ONE], "other", {})  # the same task again changes nothing
        found = sorted(cleanups.list_cleanups(session, [ONE]), key=lambda one: one.task)
        assert found == [
            Cleanup(ONE, CleanupKind.DELETE, CELL, {"user_id": "u1"}),
            Cleanup(ONE, CleanupKind.RELEASE, None, {"user_id": "u1"}),
        ]
        cleanups.delete_cleanups(session, [ONE], CleanupKind.RELEASE)
        assert [one.task for one in cleanups.list_cleanups(session, [ONE])] == [CleanupKind.DELETE]
