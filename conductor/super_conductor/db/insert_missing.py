"""Insert rows that do not exist yet, in one statement that is safe under concurrency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.orm import DeclarativeBase, Session


def insert_missing(
    session: Session, model: type[DeclarativeBase], rows: Sequence[dict[str, Any]]
) -> None:
    """Insert ``rows``; a row whose primary key exists is left as it is."""
    if not rows:
        return
    session.execute(_statement(session.get_bind().dialect.name, model), rows)


def _statement(dialect: str, model: type[DeclarativeBase]) -> sa.Insert:
    if dialect == "postgresql":
        return postgresql.insert(model).on_conflict_do_nothing()
    if dialect == "sqlite":
        return sqlite.insert(model).on_conflict_do_nothing()
    first_key = sa.inspect(model).primary_key[0]
    # INSERT IGNORE would also accept invalid values.
    return mysql.insert(model).on_duplicate_key_update({first_key.name: first_key})
