"""The tables that the versions make are those of the models."""

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from armillary.db import Database
from placement.db.models import Base
from placement.db.schema import VERSION_TABLE
from tests.fixtures.placement import SCHEMA


def differences(database: Database) -> list[object]:
    """Return what one would have to change to get from the tables to the models."""
    with database.engine.connect() as connection:
        options = {"version_table": VERSION_TABLE, "compare_type": True}
        return list(
            compare_metadata(MigrationContext.configure(connection, opts=options), Base.metadata)
        )


def test_the_versions_make_the_tables_of_the_models(any_database_url: str) -> None:
    """Every table, column, type, index and key, on three databases."""
    database = Database(any_database_url, name="placement")
    database.sync(SCHEMA)
    assert differences(database) == []
    database.dispose()


def test_the_newest_version_is_the_one_that_is_needed(placement_url: str) -> None:
    """A service starts on tables that were just made."""
    database = Database(placement_url, name="placement")
    database.check_version(SCHEMA)
    database.dispose()
