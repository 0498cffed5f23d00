"""``armillary-manage db archive`` and ``db purge``: which databases, how much, which code."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import objects
from armillary.db import Database
from conductor.common.cell_db import faults, instances, models
from programs import manage
from programs.operator.databases import DATABASES
from tests import builders
from tests.fixtures.services.databases import sqlite_with_tables
from tests.unit.programs.operator.conftest import Run, runner

SCHEMA = next(known.schema for known in DATABASES if known.name == "cell")


@pytest.fixture
def databases(tmp_path: Path) -> Iterator[dict[str, Database]]:
    """Return a cell's database and cell0's, with their tables."""
    objects.register_all()
    made = {
        name: Database(sqlite_with_tables(tmp_path / f"{name}.sqlite", SCHEMA), name=name)
        for name in ("cell0", "cell")
    }
    yield made
    for database in made.values():
        database.dispose()


@pytest.fixture
def run(databases: dict[str, Database], tmp_path: Path) -> Run:
    """Return a function that runs ``armillary-manage`` with both databases configured."""
    path = tmp_path / "cells.conf"
    path.write_text(
        "".join(f"[{name}_database]\nconnection = {made.url}\n" for name, made in databases.items())
    )
    return runner(path, manage.make_app)


def add(database: Database, count: int, *, days_ago: float) -> None:
    """Store instances that were deleted, each with a fault."""
    deleted_at = datetime.now(UTC) - timedelta(days=days_ago)
    made = [builders.an_instance() for _ in range(count)]
    with database.writer() as session:
        instances.insert(session, made, now=builders.A_TIME)
        faults.add(session, [builders.a_fault(one.uuid) for one in made], now=builders.A_TIME)
        session.query(models.Instance).filter(models.Instance.deleted_at.is_(None)).update(
            {"deleted_at": deleted_at}
        )


def left(database: Database) -> int:
    with database.reader() as session:
        return session.query(models.Instance).count()


def days_ago(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


def test_nothing_to_archive_is_0(run: Run) -> None:
    """It says so."""
    ended = run("db", "archive")
    assert (ended.code, ended.out) == (0, "cell: archived 0 instances and 0 related rows\n")


def test_what_was_deleted_an_hour_ago_is_archived(run: Run, databases: dict[str, Database]) -> None:
    """Of the cell alone; the code says that something was done."""
    for database in databases.values():
        add(database, 2, days_ago=1)
    add(databases["cell"], 1, days_ago=0.5 / 24)
    ended = run("db", "archive")
    assert (ended.code, ended.out) == (1, "cell: archived 2 instances and 2 related rows\n")
    assert (left(databases["cell"]), left(databases["cell0"])) == (1, 2)


def test_verbose_counts_the_rows_of_each_table(run: Run, databases: dict[str, Database]) -> None:
    """A line for each, also of all cells."""
    add(databases["cell0"], 1, days_ago=1)
    ended = run("db", "archive", "--all-cells", "--verbose")
    assert ended.out.splitlines() == [
        "cell0: archived 1 instance and 1 related row",
        "  instance_action_events: 0",
        "  instance_actions: 0",
        "  instance_faults: 1",
        "  instances: 1",
        "  migrations: 0",
        "cell: archived 0 instances and 0 related rows",
    ]


@pytest.mark.parametrize(
    ("words", "stay"),
    [
        (("--max-rows", "2"), 4), (("--until-complete",), 0), ((), 0),
        (("--before", "2020-01-31"), 6),
    ],
    ids=["some", "all", "by default", "long ago"],
)  # fmt: skip
def test_how_many_are_archived(
    run: Run, databases: dict[str, Database], monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...], stay: int,
) -> None:  # fmt: skip
    """In transactions of a few."""
    monkeypatch.setattr("programs.operator.archive_commands.BATCH_SIZE", 4)
    add(databases["cell"], 6, days_ago=2)
    assert run("db", "archive", *words).code == (0 if stay == 6 else 1)
    assert left(databases["cell"]) == stay


def test_purge_removes_the_archived(run: Run, databases: dict[str, Database]) -> None:
    """Those before a date, then all; the second time there is nothing to do."""
    add(databases["cell"], 2, days_ago=9)
    add(databases["cell"], 1, days_ago=2)
    run("db", "archive")
    some = run("db", "purge", "--before", days_ago(5))
    assert (some.code, some.out) == (1, "cell: removed 2 instances and 2 related rows\n")
    assert [run("db", "purge", "--all").code for _ in range(2)] == [1, 0]


@pytest.mark.parametrize(
    "words",
    [
        ("archive", "--max-rows", "0"),
        ("archive", "--before", "yesterday"),
        ("archive", "--before", "2999-01-01"),
        ("archive", "--max-rows", "1", "--until-complete"),
        ("purge",),
        ("purge", "--all", "--before", "2020-01-31"),
    ],
    ids=" ".join,
)
def test_bad_input_is_2(run: Run, words: tuple[str, ...]) -> None:
    """Before any database is opened."""
    assert run("db", *words).code == 2


def test_a_database_that_fails_is_3(run: Run, databases: dict[str, Database]) -> None:
    """One line says why; what was done in the one before stays done."""
    add(databases["cell0"], 1, days_ago=1)
    with databases["cell"].writer() as session:
        models.Base.metadata.tables["migrations"].drop(session.connection())
    add(databases["cell"], 1, days_ago=1)
    ended = run("db", "archive", "--all-cells")
    assert (ended.code, ended.err.count("\n")) == (3, 1)
    assert (left(databases["cell0"]), left(databases["cell"])) == (0, 1)


def test_no_database_is_a_mistake_in_the_configuration(run: Run, tmp_path: Path) -> None:
    """It says what could be done."""
    path = tmp_path / "super.conf"
    path.write_text(f"[cell0_database]\nconnection = sqlite:///{tmp_path}/cell0.sqlite\n")
    ended = run("db", "archive", conf_file=path)
    assert (ended.code, "--all-cells" in ended.err) == (78, True)


def test_tables_of_another_release_are_a_mistake_too(run: Run, tmp_path: Path) -> None:
    """The services would not start either."""
    path = tmp_path / "new.conf"
    path.write_text(f"[cell_database]\nconnection = sqlite:///{tmp_path}/new.sqlite\n")
    assert run("db", "purge", "--all", conf_file=path).code == 78
