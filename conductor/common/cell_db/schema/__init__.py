"""Schema versions of a cell's database, for ``Database.sync``."""

from conductor.common.cell_db import online_migrations

VERSION_TABLE = "cell_schema_version"
ONLINE_MIGRATIONS = online_migrations.ALL
