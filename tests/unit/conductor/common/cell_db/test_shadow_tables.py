"""Shadow tables: deleted instances go there whole, and are removed from there permanently."""

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from armillary.context import admin_context
from armillary.db import Database
from conductor.common.cell_db import actions, faults, instances, models, shadow_tables
from objects.instance import Instance
from objects.instances.migration import MigrationStatus, MigrationType
from tests import builders

NOW = builders.A_TIME
HOUR = timedelta(hours=1)
EVERYTHING = {
    "instances": 1, "instance_actions": 1, "instance_action_events": 1, "instance_faults": 1,
    "migrations": 1,
}  # fmt: skip


@pytest.fixture
def database(database: Database) -> Database:
    """Return it with empty shadow tables, too."""
    with database.writer() as session:
        for table in shadow_tables.METADATA.tables.values():
            session.execute(table.delete())
    return database


def add(database: Database, *, deleted_hours_ago: float | None) -> Instance:
    """Store an instance with one row of everything that belongs to it."""
    instance = builders.an_instance()
    deleted_at = None if deleted_hours_ago is None else NOW - deleted_hours_ago * HOUR
    with database.writer() as session:
        instances.insert(session, [instance], now=NOW)
        faults.add(session, [builders.a_fault(instance.uuid)], now=NOW)
        keys = actions.start(session, admin_context(), actions.CREATE, [instance], now=NOW)
        actions.start_events(
            session, actions.SCHEDULE_EVENT, [(key, None, 0) for key in keys.values()], now=NOW
        )
        session.add(
            models.Migration(
                uuid=builders.a_uuid(), instance_uuid=instance.uuid, created_at=NOW, flow_state={},
                migration_type=MigrationType.RESIZE, status=MigrationStatus.CONFIRMED,
            )
        )  # fmt: skip
        instances.lock_all(session, [instance.uuid])[instance.uuid].deleted_at = deleted_at
    return instance


def archive(database: Database, *, hours_ago: float = 1, limit: int = 10) -> shadow_tables.Counts:
    with database.writer() as session:
        return shadow_tables.archive(session, deleted_before=NOW - hours_ago * HOUR, limit=limit)


def purge(
    database: Database, *, hours_ago: float | None = None, limit: int = 10
) -> shadow_tables.Counts:
    before = None if hours_ago is None else NOW - hours_ago * HOUR
    with database.writer() as session:
        return shadow_tables.purge(session, deleted_before=before, limit=limit)


def counted(database: Database, *, shadows: bool) -> dict[str, int]:
    """Return how many rows there are, by the name of the table they come from."""
    with database.reader() as session:
        return {
            table.name: session.scalar(sa.select(sa.func.count()).select_from(it)) or 0
            for table, shade in shadow_tables.SHADOWS.items()
            for it in (shade if shadows else table,)
        }


def rows(database: Database, table: Any) -> list[dict[str, Any]]:
    with database.reader() as session:
        return [dict(row) for row in session.execute(sa.select(table)).mappings()]


def test_the_schema_makes_the_shadow_tables(database: Database) -> None:
    """With every column of the tables that the rows come from: one added there is missed here."""
    ours = set(shadow_tables.METADATA.tables)
    with database.engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={"include_name": lambda name, kind, _parents: kind != "table" or name in ours},
        )
        assert compare_metadata(context, shadow_tables.METADATA) == []


def test_an_instance_moves_with_all_that_belongs_to_it(database: Database) -> None:
    """Each row is what it was; the living instance keeps its own."""
    gone = add(database, deleted_hours_ago=2)
    add(database, deleted_hours_ago=None)
    before = rows(database, shadow_tables._INSTANCES)
    assert archive(database) == EVERYTHING
    assert counted(database, shadows=False) == counted(database, shadows=True) == EVERYTHING
    [kept] = rows(database, shadow_tables.SHADOWS[shadow_tables._INSTANCES])
    assert [kept] == [row for row in before if row["uuid"] == gone.uuid]


def test_a_moment_decides_who_moves(database: Database) -> None:
    """One that was deleted later stays."""
    add(database, deleted_hours_ago=2)
    assert archive(database, hours_ago=3) == {}
    assert archive(database, hours_ago=1)["instances"] == 1


def test_a_batch_takes_those_that_are_gone_longest(database: Database) -> None:
    """As many as the limit says; the second batch has the rest."""
    add(database, deleted_hours_ago=2)
    oldest = add(database, deleted_hours_ago=9)
    assert archive(database, limit=1)["instances"] == 1
    assert [
        row["uuid"] for row in rows(database, shadow_tables.SHADOWS[shadow_tables._INSTANCES])
    ] == [oldest.uuid]
    assert archive(database, limit=1)["instances"] == 1
    assert archive(database, limit=1) == {}


def test_what_is_worked_on_stays(database: Database) -> None:
    """Its rows are read and written still."""
    instance = add(database, deleted_hours_ago=2)
    with database.writer() as session:
        session.add(
            models.InstanceDelete(
                instance_uuid=instance.uuid, is_guest_gone=True, request_id="req-1", tries=0,
                created_at=NOW, lease_owner=None, lease_expires_at=0.0,
            )
        )  # fmt: skip
    assert archive(database) == {}


def test_numbers_that_are_given_again_do_not_collide(database: Database) -> None:
    """SQLite numbers the next fault, action and event as those that were moved."""
    for _ in range(2):
        add(database, deleted_hours_ago=2)
        assert archive(database) == EVERYTHING


def test_purge_removes_what_was_deleted_before_a_moment(database: Database) -> None:
    """With all that belongs to it, and nothing of the others."""
    add(database, deleted_hours_ago=9)
    add(database, deleted_hours_ago=2)
    archive(database)
    assert purge(database, hours_ago=5) == EVERYTHING
    assert purge(database, hours_ago=5) == {}
    assert counted(database, shadows=True) == EVERYTHING


def test_purge_without_a_moment_removes_all(database: Database) -> None:
    """A batch each time; the cell's own tables are left alone."""
    for _ in range(3):
        add(database, deleted_hours_ago=2)
    archive(database)
    add(database, deleted_hours_ago=2)
    assert [purge(database, limit=2).get("instances", 0) for _ in range(3)] == [2, 1, 0]
    assert set(counted(database, shadows=True).values()) == {0}
    assert counted(database, shadows=False) == EVERYTHING
