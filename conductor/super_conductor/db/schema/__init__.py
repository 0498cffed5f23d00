"""Schema versions of the API database, for ``Database.sync``."""
