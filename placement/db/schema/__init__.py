"""Alembic versions of the placement database."""
