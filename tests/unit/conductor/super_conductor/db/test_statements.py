"""Tests of inserting what is not there, and of taken keys, on every engine."""

import dataclasses

import pytest

from armillary import exception
from armillary.db import Database
from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import insert_missing, raise_if_duplicate
from tests.fixtures.control_plane import NOW


def a_cell(name: str, number: int) -> models.Cell:
    return models.Cell(
        uuid=f"c0000000-0000-0000-0000-00000000000{number}", name=name, transport_url="x",
        disabled=False, created_at=NOW,
    )  # fmt: skip


def test_a_taken_key_is_the_error_that_was_given(any_api_database: Database) -> None:
    """On every engine."""
    error = exception.CellExists(field="name", value="cell1")
    with any_api_database.writer() as session:
        session.add(a_cell("cell1", 1))
    with (
        pytest.raises(exception.CellExists),
        any_api_database.writer() as session,
        raise_if_duplicate(session, error),
    ):
        session.add(a_cell("cell1", 2))


def test_a_free_key_is_stored(any_api_database: Database) -> None:
    """Nothing is raised."""
    error = exception.CellExists(field="name", value="cell1")
    with any_api_database.writer() as session, raise_if_duplicate(session, error):
        session.add(a_cell("cell1", 1))


@dataclasses.dataclass(frozen=True)
class Project:
    project_id: str
    changes: int


def test_rows_that_are_there_stay_as_they_are(any_api_database: Database) -> None:
    """The others are inserted by the same statement."""
    with any_api_database.writer() as session:
        insert_missing(session, models.Project, [Project("p1", 7)])
    with any_api_database.writer() as session:
        insert_missing(session, models.Project, [Project("p1", 0), Project("p2", 8)])
        insert_missing(session, models.Project, [])
    with any_api_database.reader() as session:
        found = {row.project_id: row.changes for row in session.query(models.Project)}
    assert found == {"p1": 7, "p2": 8}
