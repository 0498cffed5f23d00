"""Schema versions of the API database, for ``Database.sync``."""

VERSION_TABLE = "api_schema_version"
