"""Tests of ``armillary-manage db``: which databases are meant, and what becomes of them."""

from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from armillary.db import Database
from armillary.db.online_migrations import OnlineMigration
from conductor.common.cell_db import models, services
from tests import builders
from tests.fixtures.services.databases import newest_version
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


def note_reason(session: Session, limit: int) -> int:
    """Give services without a reason one: an online migration of a made-up release."""
    query = session.query(models.Service).filter(models.Service.disabled_reason.is_(None))
    rows = query.limit(limit).all()
    for row in rows:
        row.disabled_reason = "none was given"
    return len(rows)


def test_online_data_migrations_change_rows_up_to_a_limit(
    run_manage: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And are repeated until the exit code says that nothing is left."""
    registered = (OnlineMigration("services_disabled_reason", note_reason),)
    monkeypatch.setattr("conductor.common.cell_db.schema.ONLINE_MIGRATIONS", registered)
    run_manage("db", "sync")
    database = Database(f"sqlite:///{tmp_path}/cell0.sqlite", name="cell0")
    with database.writer() as session:
        services.add(
            session, [f"host{number}" for number in range(60)],
            agent="agent", version=1, disabled=False, now=builders.A_TIME,
        )  # fmt: skip
    migrate = ["db", "online-data-migrations"]
    for limit, changed, code in ((5, 5, 1), (54, 54, 1), (5, 1, 0), (5, 0, 0)):
        ended = run_manage(*migrate, "--max-count", str(limit), "-f", "json")
        (row,) = ended.json
        assert (row["Migration"], row["Rows changed"]) == ("services_disabled_reason", changed)
        assert ended.code == code
    with database.reader() as session:
        assert None not in {row.disabled_reason for row in session.query(models.Service)}


def test_nothing_is_left_where_no_release_has_a_migration(run_manage: Run) -> None:
    """As in this one: the list is empty."""
    run_manage("db", "sync")
    ended = run_manage("db", "online-data-migrations", "-f", "json")
    assert (ended.code, ended.json) == (0, [])


def test_a_migration_that_fails_does_not_keep_others_from_running(
    run_manage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code says that one has failed, and its line why."""
    run_manage("db", "sync")
    rows = list(range(7))

    def fail(session: Session, limit: int) -> int:
        raise ValueError("row 3 is malformed")

    def migrate(session: Session, limit: int) -> int:
        done, rows[:] = rows[:limit], rows[limit:]
        return len(done)

    registered = (OnlineMigration("fails", fail), OnlineMigration("works", migrate))
    monkeypatch.setattr("conductor.super_conductor.db.schema.ONLINE_MIGRATIONS", registered)
    ended = run_manage("db", "online-data-migrations", "api", "-f", "json")
    assert ended.code == 2
    assert [(row["Migration"], row["Rows changed"], row["Error"]) for row in ended.json] == [
        ("fails", 0, "row 3 is malformed"),
        ("works", 7, ""),
    ]


@pytest.mark.parametrize("count", ["0", "-1", "many"])
def test_a_limit_below_one_is_refused(run_manage: Run, count: str) -> None:
    """As wrong usage."""
    assert run_manage("db", "online-data-migrations", f"--max-count={count}").code == 2
