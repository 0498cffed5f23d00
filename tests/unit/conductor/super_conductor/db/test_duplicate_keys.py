"""Tests of turning a taken key into the error of the thing."""

from __future__ import annotations

import pytest

from armillary import exception
from armillary.db import Database
from conductor.super_conductor.db import models
from conductor.super_conductor.db.duplicate_keys import raise_if_duplicate
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
