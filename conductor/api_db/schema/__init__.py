"""Versions of the API database's tables, for ``Database.sync("conductor.api_db.schema")``."""
