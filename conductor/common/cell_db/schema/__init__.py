"""Schema versions of a cell's database, for ``Database.sync``."""

from armillary.db.online_migrations import OnlineMigration

VERSION_TABLE = "cell_schema_version"
ONLINE_MIGRATIONS: tuple[OnlineMigration, ...] = ()
