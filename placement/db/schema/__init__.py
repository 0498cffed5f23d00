"""Schema versions of the placement database, for ``Database.sync``."""

VERSION_TABLE = "placement_schema_version"
