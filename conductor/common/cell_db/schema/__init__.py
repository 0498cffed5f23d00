"""Schema versions of a cell's database, for ``Database.sync``."""
