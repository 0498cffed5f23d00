"""Tests of ``armillary-manage db``: which databases are meant, and what becomes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.databases import newest_version
from tests.unit.programs.operator.conftest import Run

API = newest_version("conductor.super_conductor.db.schema")
CELL = newest_version("conductor.common.cell_db.schema")


def test_sync_makes_the_tables_of_what_is_configured(run_manage: Run, tmp_path: Path) -> None:
    """The other databases belong to other services, and are not made."""
    assert run_manage("db", "sync").out == f"api: empty -> {API}\ncell0: empty -> {CELL}\n"
    made = {path.name for path in tmp_path.glob("*.sqlite")}
    assert made == {"api.sqlite", "cell0.sqlite"}


def test_sync_may_run_twice(run_manage: Run) -> None:
    """The second time there is nothing to do."""
    run_manage("db", "sync")
    again = run_manage("db", "sync")
    assert (again.code, again.out) == (0, f"api: is at {API}\ncell0: is at {CELL}\n")


def test_sync_takes_the_databases_that_are_named(run_manage: Run) -> None:
    """In our order, whatever theirs is."""
    ended = run_manage("db", "sync", "cell0", "api")
    assert ended.out == f"api: empty -> {API}\ncell0: empty -> {CELL}\n"
    assert run_manage("db", "sync", "cell0").out == f"cell0: is at {CELL}\n"


def test_a_named_database_needs_no_connection_in_a_file(run_manage: Run, tmp_path: Path) -> None:
    """Then its default counts, a file in the state path."""
    assert run_manage("db", "sync", "placement").out == "placement: empty -> 0001\n"
    assert (tmp_path / "placement.sqlite").exists()


def test_version_tells_what_is_there_and_what_is_needed(run_manage: Run) -> None:
    """Nothing is there before the first sync."""
    run_manage("db", "sync", "api")
    assert run_manage("db", "version", "-f", "json").json == [
        {"Database": "api", "Version": API, "Needed": API},
        {"Database": "cell0", "Version": "", "Needed": CELL},
    ]


def test_an_unknown_database_is_refused_with_the_known_ones(
    run_manage: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """As wrong usage."""
    assert run_manage("db", "sync", "apis").code == 2
    assert "choose from api, cell0, cell, placement" in capsys.readouterr().err


def test_a_configuration_without_databases_is_one_line(run_manage: Run, tmp_path: Path) -> None:
    """It says which options could be set."""
    path = tmp_path / "api.conf"
    path.write_text(f"[DEFAULT]\nstate_path = {tmp_path}\n")
    ended = run_manage("db", "sync", conf_file=path)
    assert (ended.code, ended.err.count("\n")) == (78, 1)
    assert "no connection is set in any of [api_database]" in ended.err


def test_a_database_that_does_not_answer_is_one_line_without_password(
    run_manage: Run, tmp_path: Path
) -> None:
    """It may not be a mistake in the configuration."""
    path = tmp_path / "other.conf"
    path.write_text("[api_database]\nconnection = postgresql+psycopg2://u:geheim@127.0.0.1:1/x\n")
    ended = run_manage("db", "version", conf_file=path)
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert ended.err.startswith("armillary-manage: The api database is unavailable")
    assert "geheim" not in ended.err
