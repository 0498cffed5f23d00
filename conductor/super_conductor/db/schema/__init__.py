"""Schema versions of the API database, for ``Database.sync``."""

from armillary.db.online_migrations import OnlineMigration

VERSION_TABLE = "api_schema_version"
ONLINE_MIGRATIONS: tuple[OnlineMigration, ...] = ()
