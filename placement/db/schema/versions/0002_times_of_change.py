"""Record when names, providers and consumers changed, for clients of the REST API."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_TABLES = ("resource_classes", "traits", "resource_providers", "consumers")


def upgrade() -> None:
    # SQLite adds a NOT NULL column only with a default; recreating such a table would lose the
    # guarantee that ids are never reused.
    long_ago = sa.text("'1970-01-01 00:00:00'")
    for table in _TABLES:
        op.add_column(
            table, sa.Column("updated_at", sa.DateTime, nullable=False, server_default=long_ago)
        )
        op.execute(
            sa.update(sa.table(table, sa.column("updated_at"))).values(updated_at=sa.func.now())
        )
