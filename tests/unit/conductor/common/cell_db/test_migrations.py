"""Lists of migrations: filters, and pages that leave out nothing, also of the same moment."""

from datetime import timedelta
from typing import Any

import pytest

from armillary.db import Database
from conductor.common.cell_db import migrations, models
from objects.instances.migration import Migration
from objects.instances.server_filters import MigrationFilters
from tests.builders import A_TIME, a_uuid

AN_HOUR = timedelta(hours=1)


def store(database: Database, *migrations: dict[str, Any]) -> None:
    """Store migrations with these values, and defaults for the others."""
    with database.writer() as session:
        for values in migrations:
            defaults = {
                "uuid": a_uuid(), "instance_uuid": a_uuid(), "migration_type": "resize",
                "status": "finished", "source_host": "a", "dest_host": "b", "flow_state": {},
                "project_id": "p1", "user_id": "u1", "created_at": A_TIME,
            }  # fmt: skip
            session.add(models.Migration(**{**defaults, **values}))


def listed(database: Database, *, limit: int = 100, **filters: Any) -> list[Migration]:
    return database.read(
        migrations.list_page, filters=MigrationFilters(**filters), limit=limit, cell_uuid=None
    )


@pytest.mark.parametrize(
    ("filters", "projects"),
    [
        ({"project_id": "p1"}, ["p1"]),
        ({"user_id": "u2"}, ["p2"]),
        ({"project_id": "p1", "user_id": "u2"}, []),
        ({"changed_since": A_TIME + AN_HOUR}, ["p2"]),
        ({"changed_since": A_TIME + 2 * AN_HOUR}, []),
        ({"changed_before": A_TIME}, ["p1"]),
        ({"changed_before": A_TIME + AN_HOUR}, ["p1", "p2"]),
    ],
)
def test_migrations_are_filtered_by_owner_and_last_change(
    database: Database, filters: dict[str, Any], projects: list[str]
) -> None:
    """A migration that was never changed changed when it was stored."""
    changed = {"project_id": "p2", "user_id": "u2", "updated_at": A_TIME + AN_HOUR}
    store(database, {}, changed)
    found = listed(database, **filters)
    assert sorted(str(move.project_id) for move in found) == projects


def test_pages_have_each_migration_once(database: Database) -> None:
    """Newest first; those of one moment by their UUID."""
    store(database, *({} for _ in range(3)), {"created_at": A_TIME + AN_HOUR})
    every = [move.uuid for move in listed(database)]
    seen: list[str] = []
    position: dict[str, Any] = {}
    while page := listed(database, limit=1, **position):
        seen += [move.uuid for move in page]
        position = {"after_created_at": page[-1].created_at, "after_uuid": page[-1].uuid}
    assert seen == every
    assert len(every) == 4
