"""Tests of storing what is still to be done for instances that are gone, on every engine."""

import dataclasses

from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.db import cleanups
from conductor.super_conductor.db.cleanups import Cleanup, CleanupKind

CELL = "c0ffee00-0000-4000-8000-000000000001"
ONE = "00000000-0000-4000-8000-000000000001"


def test_a_delete_and_a_release_are_done_each_by_itself(any_api_database: Database) -> None:
    """One of them done leaves the other."""
    context = RequestContext(user_id="u1")
    delete = Cleanup(ONE, CleanupKind.DELETE, context, CELL)
    with any_api_database.writer() as session:
        cleanups.add_releases(session, [ONE], context)
        cleanups.add(session, delete)
        cleanups.add(session, dataclasses.replace(delete, cell_uuid="other"))  # changes nothing
        found = sorted(cleanups.list_cleanups(session, [ONE]), key=lambda one: one.task)
        assert [(one.task, one.cell_uuid, one.context.user_id) for one in found] == [
            (CleanupKind.DELETE, CELL, "u1"),
            (CleanupKind.RELEASE, None, "u1"),
        ]
        cleanups.delete_cleanups(session, [ONE], CleanupKind.RELEASE)
        assert [one.task for one in cleanups.list_cleanups(session, [ONE])] == [CleanupKind.DELETE]
