"""Versions of a cell's tables, for ``Database.sync("conductor.cell_db.schema")``."""
