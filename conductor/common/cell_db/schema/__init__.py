"""Schema versions of a cell's database, for ``Database.sync``."""

VERSION_TABLE = "cell_schema_version"
