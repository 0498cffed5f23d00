"""Tests of inserting what is not there, on every engine."""

from __future__ import annotations

from armillary.db import Database
from conductor.super_conductor.db import models
from conductor.super_conductor.db.insert_missing import insert_missing


def test_rows_that_are_there_stay_as_they_are(any_api_database: Database) -> None:
    """The others are inserted by the same statement."""
    rows = [{"project_id": "p1", "changes": 7}, {"project_id": "p2", "changes": 8}]
    with any_api_database.writer() as session:
        insert_missing(session, models.Project, rows[:1])
    with any_api_database.writer() as session:
        insert_missing(session, models.Project, [{"project_id": "p1", "changes": 0}, rows[1]])
    with any_api_database.reader() as session:
        found = {row.project_id: row.changes for row in session.query(models.Project)}
    assert found == {"p1": 7, "p2": 8}


def test_no_rows_are_fine(any_api_database: Database) -> None:
    """There is no statement for none."""
    with any_api_database.writer() as session:
        insert_missing(session, models.Project, [])
