"""Tests of the API database's tables: the versions make what the models say, on every engine."""

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from armillary.db import Database
from conductor.super_conductor.db import models
from conductor.super_conductor.db.schema import VERSION_TABLE


def test_the_versions_make_the_tables_of_the_models(any_api_database: Database) -> None:
    """Nothing is missing, nothing is too much."""
    with any_api_database.engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "compare_type": True,
                "include_name": lambda name, kind, _: (kind, name) != ("table", VERSION_TABLE),
            },
        )
        assert compare_metadata(context, models.Base.metadata) == []
