"""``armillary-status recovery``: what is unfinished, since when, and who has it."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from armillary.context import admin_context
from armillary.db import Database
from conductor.common.cell_db import models as cell
from conductor.common.cell_db.stored_object import StoredObject
from conductor.super_conductor.db import models as api
from objects.allocations.fence import Fence
from programs import status
from programs.operator.databases import API
from programs.operator.status_commands import CELL
from tests import builders
from tests.fixtures.checks.documented_output import assert_printed, example
from tests.fixtures.services import MARIADB, POSTGRESQL
from tests.fixtures.services.databases import ON_ALL_THREE, fresh_database, sqlite_with_tables
from tests.unit.programs.operator.conftest import Run, runner

UUID = "11111111-1111-4111-8111-111111111111"
SERVERS = {"postgresql": POSTGRESQL, "mariadb": MARIADB}


@pytest.fixture
def databases(tmp_path: Path) -> Iterator[dict[str, Database]]:
    """Return both databases with their tables."""
    yield from _databases(_sqlite(tmp_path))


def _sqlite(folder: Path) -> dict[str, str]:
    return {
        known.name: sqlite_with_tables(folder / f"{known.name}.sqlite", known.schema)
        for known in (API, CELL)
    }


def _databases(urls: dict[str, str]) -> Iterator[dict[str, Database]]:
    made = {name: Database(url, name=name) for name, url in urls.items()}
    yield made
    for database in made.values():
        database.dispose()


@pytest.fixture
def run(databases: dict[str, Database], tmp_path: Path) -> Run:
    """Return a function that runs ``armillary-status`` with both databases configured."""
    return _run(databases, tmp_path)


def _run(databases: dict[str, Database], tmp_path: Path) -> Run:
    path = tmp_path / "both.conf"
    lines = [
        f"[{name}_database]\nconnection = {made.url.render_as_string(hide_password=False)}\n"
        for name, made in databases.items()
    ]
    path.write_text("".join(lines))
    return runner(path, status.make_app)


def ago(seconds: float) -> datetime:
    return datetime.now(UTC) - timedelta(seconds=seconds)


def add(database: Database, *rows: Any) -> None:
    with database.writer() as session:
        session.add_all(rows)


def a_reservation(**values: Any) -> api.Reservation:
    given: dict[str, Any] = {
        "reservation_id": "r-1", "project_id": "p", "stage": "scheduling",
        "fence": int(Fence.of_build(3)),
        "context": admin_context(), "accepted_at": ago(100), "failure": "no scheduler\nanswers",
        "lease_owner": "host1/7", "lease_expires_at": time.time() + 30,
    }  # fmt: skip
    return api.Reservation(**{**given, **values})


def an_operation(**values: Any) -> cell.InstanceOperation:
    given: dict[str, Any] = {
        "instance_uuid": builders.a_uuid(), "operation": "live_migrate", "stage": "copy",
        "sequence": 1, "number": 1, "migration_uuid": None, "flow_state": {}, "context": {},
        "tries": 2, "created_at": ago(50), "lease_owner": None, "lease_expires_at": time.time() - 1,
    }  # fmt: skip
    return cell.InstanceOperation(**{**given, **values})


def a_delete(**values: Any) -> cell.InstanceDelete:
    given: dict[str, Any] = {
        "instance_uuid": builders.a_uuid(), "is_guest_gone": False, "request_id": "req-1",
        "tries": 0, "created_at": ago(10), "lease_owner": None, "lease_expires_at": 0.0,
    }  # fmt: skip
    return cell.InstanceDelete(**{**given, **values})


def a_build(**values: Any) -> cell.InstanceBuild:
    given: dict[str, Any] = {
        "instance_uuid": UUID, "stage": "claim", "attempt": 1, "position": 0, "fence": 0,
        "selections": [], "request_spec": StoredObject({}), "tries": 0, "created_at": ago(5),
        "lease_owner": "h", "lease_expires_at": time.time() + 30,
    }  # fmt: skip
    return cell.InstanceBuild(**{**given, **values})


def a_move(**values: Any) -> api.Move:
    given: dict[str, Any] = {
        "migration_uuid": builders.a_uuid(), "instance_uuid": UUID, "cell_uuid": UUID,
        "operation": "evacuate", "arguments": {}, "context": admin_context(), "takes": 1,
        "accepted_at": ago(20), "lease_owner": "host1/8", "lease_expires_at": time.time() + 30,
    }  # fmt: skip
    return api.Move(**{**given, **values})


def a_cleanup(**values: Any) -> api.Cleanup:
    given: dict[str, Any] = {
        "instance_uuid": UUID, "task": "release", "cell_uuid": None, "context": admin_context(),
        "lease_owner": None, "lease_expires_at": 0.0,
    }  # fmt: skip
    return api.Cleanup(**{**given, **values})


def test_nothing_in_progress_is_fine(run: Run) -> None:
    """One line, and 0."""
    ended = run("recovery")
    assert (ended.code, ended.out) == (0, "Nothing is unfinished in api and cell.\n")


@pytest.mark.parametrize("engine", ON_ALL_THREE)
def test_works_are_grouped_by_what_they_do_and_how_far_they_are(
    engine: str, tmp_path: Path
) -> None:
    """All six tables, the same on every engine; a group has the age of its oldest."""
    with ExitStack() as stack:
        if engine == "sqlite":
            urls = _sqlite(tmp_path)
        else:
            urls = {
                name: stack.enter_context(fresh_database(SERVERS[engine]))
                for name in ("api", "cell")
            }
        for databases in _databases(urls):
            for known in (API, CELL):
                databases[known.name].sync(known.schema)
            _fill(databases)
            found = _run(databases, tmp_path)("recovery", "--json").json
    shown = [
        (g["table"], g["operation"], g["stage"], g["count"], g["free"]) for g in found["groups"]
    ]
    assert shown == [
        ("reservations", None, "scheduling", 1, 0),
        ("moves", "evacuate", "scheduling", 1, 0),
        ("cleanups", None, "release", 1, 1),
        ("instance_builds", None, "claim", 1, 0),
        ("instance_deletes", None, "guest", 1, 1),
        ("instance_deletes", None, "records", 1, 1),
        ("instance_operations", "live_migrate", "copy", 2, 2),
    ]
    ages = {g["table"]: g["age_seconds"] for g in found["groups"]}
    assert ages["instance_operations"] == pytest.approx(90, abs=20)
    assert ages["cleanups"] is None
    reservation = next(each for each in found["oldest"] if each["table"] == "reservations")
    assert (reservation["tries"], reservation["reservation_id"]) == (3, "r-1")


def test_the_documented_overview_is_printed(run_status: Run, tmp_path: Path) -> None:
    """A cell's: a build that has a worker, and an operation that has none any more."""
    urls = {"cell": _sqlite(tmp_path)["cell"]}
    late = an_operation(created_at=ago(724))
    held = an_operation(lease_owner="h", lease_expires_at=time.time() + 30)
    for databases in _databases(urls):
        add(databases["cell"], a_build(created_at=ago(2)), late, held)
    path = tmp_path / "cell.conf"
    path.write_text(f"[cell_database]\nconnection = {urls['cell']}\n")
    ended = run_status("recovery", conf_file=path)
    assert_printed(example("docs/operating/recovery.md"), ended.out)


def _fill(databases: dict[str, Database]) -> None:
    add(databases["api"], a_reservation(), a_move(), a_cleanup())
    rows = [an_operation(), an_operation(created_at=ago(90))]
    add(databases["cell"], a_build(), a_delete(), a_delete(is_guest_gone=True), *rows)


def test_the_oldest_come_first_and_no_more_than_asked_for(
    run: Run, databases: dict[str, Database]
) -> None:
    """Of all databases together; the groups count all."""
    add(databases["cell"], *(an_operation(created_at=ago(seconds)) for seconds in (30, 70, 50)))
    add(databases["api"], a_move(accepted_at=ago(60)))
    found = run("recovery", "--json", "--limit", "2").json
    assert [each["table"] for each in found["oldest"]] == ["instance_operations", "moves"]
    assert found["total"] == 4


@pytest.mark.parametrize(
    ("older_than", "code"), [("40", 1), ("80", 0)], ids=["one is older", "none is older"]
)
def test_an_age_decides_about_the_code(
    run: Run, databases: dict[str, Database], older_than: str, code: int
) -> None:
    """The work is 50 seconds old."""
    add(databases["cell"], an_operation())
    assert run("recovery", "--older-than", older_than).code == code


def test_a_cleanup_is_as_old_as_the_users_delete(run: Run, databases: dict[str, Database]) -> None:
    """It has no time of its own; without a mapping its age is unknown, and that is amiss."""
    mapping = api.InstanceMapping(
        instance_uuid=UUID, cell_uuid=None, reservation_id="r-1", project_id="p", user_id="u",
        vcpus=1, memory_mb=1, created_at=ago(90), queued_for_delete=True, deleted_at=ago(40),
    )  # fmt: skip
    add(databases["api"], a_cleanup(), mapping)
    [group] = run("recovery", "--json").json["groups"]
    assert group["age_seconds"] == pytest.approx(40, abs=20)
    with databases["api"].writer() as session:
        session.query(api.InstanceMapping).delete()
    assert run("recovery").code == 1


@pytest.mark.parametrize(
    ("lease", "words"),
    [
        ({"lease_owner": "host1/7", "lease_expires_at": 9e9}, "leased by host1/7 until 2255-03-14"),
        ({"lease_owner": None, "lease_expires_at": 9e9}, "retried at 2255-03-14"),
        ({"lease_owner": "host1/7", "lease_expires_at": 1.0}, "no worker"),
        (
            {"stage": "schedule", "lease_owner": None, "lease_expires_at": 9e9},
            "waits for the super conductor, which is asked again at 2255-03-14",
        ),
    ],
    ids=["held", "put off", "ran out", "elsewhere"],
)
def test_text_says_who_has_it(
    run: Run, databases: dict[str, Database], lease: dict[str, Any], words: str
) -> None:
    """With instance, operation, stage and tries."""
    add(databases["cell"], an_operation(instance_uuid=UUID, **lease))
    line = run("recovery").out.splitlines()[-1]
    stage = lease.get("stage", "copy")
    assert line.startswith(f"  {UUID}  instance_operations live_migrate: {stage} since ")
    assert "tries 2; " in line
    assert words in line


def test_the_last_failure_of_a_reservation_is_shown(
    run: Run, databases: dict[str, Database]
) -> None:
    """In one line."""
    add(databases["api"], a_reservation())
    assert run("recovery").out.endswith("    last failure: no scheduler answers\n")


def test_a_database_that_cannot_be_read_is_2_and_the_other_is_shown(
    run: Run, databases: dict[str, Database], tmp_path: Path
) -> None:
    """Its tables are not there."""
    path = tmp_path / "both.conf"
    path.write_text(path.read_text().replace("api.sqlite", "other.sqlite"))
    add(databases["cell"], an_operation())
    ended = run("recovery")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "armillary-manage db sync" in ended.err
    assert "Unfinished in cell: 1," in ended.out


def test_without_a_database_it_is_2_with_one_line(run_status: Run, tmp_path: Path) -> None:
    """It says which configuration is needed."""
    path = tmp_path / "none.conf"
    path.write_text("[DEFAULT]\n")
    ended = run_status("recovery", conf_file=path)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "[cell_database]" in ended.err


@pytest.mark.parametrize("words", [("--older-than", "-1"), ("--limit", "many")], ids=" ".join)
def test_wrong_usage_is_2(run_status: Run, words: tuple[str, ...]) -> None:
    """Before anything is read."""
    assert run_status("recovery", *words).code == 2
