"""The tables: what the schema's versions make is what the models say, on every engine."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from armillary.db import Database
from conductor.common.cell_db import models
from tests.fixtures.cell import SCHEMA


def test_the_schema_makes_the_tables_of_the_models(any_database_url: str) -> None:
    """No table, column, index or constraint differs."""
    database = Database(any_database_url, name="cell")
    database.sync(SCHEMA)
    with database.engine.connect() as connection:
        ours = set(models.Base.metadata.tables)
        context = MigrationContext.configure(
            connection,
            opts={"include_name": lambda name, kind, _parents: kind != "table" or name in ours},
        )
        assert compare_metadata(context, models.Base.metadata) == []
    database.dispose()


def test_a_second_sync_changes_nothing(tmp_path: Path) -> None:
    """The counter of host states is there once."""
    database = Database(f"sqlite:///{tmp_path}/cell.sqlite", name="cell")
    assert database.sync(SCHEMA) == database.sync(SCHEMA)
    with database.reader() as session:
        assert session.query(models.HostStateSeq).count() == 1
    database.dispose()


def test_a_moment_comes_back_as_it_was_stored(any_database_url: str) -> None:
    """Microseconds and all, in UTC, whatever zone it was in."""
    database = Database(any_database_url, name="cell")
    database.sync(SCHEMA)
    moment = datetime(2030, 1, 31, 23, 30, 0, 123456, tzinfo=timezone(timedelta(hours=-5)))
    with database.writer() as session:
        session.add(models.NodeRemoval(node_uuid="n", seq=2**40, removed_at=moment))
    with database.reader() as session:
        [row] = session.query(models.NodeRemoval)
    assert (row.removed_at, row.seq) == (moment, 2**40)
    assert row.removed_at.tzinfo is UTC
    database.dispose()
