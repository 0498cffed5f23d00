"""The versions of the placement database's tables, for Alembic."""
