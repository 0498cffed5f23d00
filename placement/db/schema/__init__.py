"""Schema versions of the placement database, for ``Database.sync``."""

from armillary.db.online_migrations import OnlineMigration

VERSION_TABLE = "placement_schema_version"
ONLINE_MIGRATIONS: tuple[OnlineMigration, ...] = ()
