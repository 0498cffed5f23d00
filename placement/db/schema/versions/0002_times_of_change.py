"""Note when names, providers and consumers changed: clients of the REST API are told."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_TABLES = ("resource_classes", "traits", "resource_providers", "consumers")


def upgrade() -> None:
    # SQLite adds a column that is never null only with a default, and making such a table anew
    # would lose that its numbers are never used again.
    long_ago = sa.text("'1970-01-01 00:00:00'")
    for table in _TABLES:
        op.add_column(
            table, sa.Column("updated_at", sa.DateTime, nullable=False, server_default=long_ago)
        )
        op.execute(
            sa.update(sa.table(table, sa.column("updated_at"))).values(updated_at=sa.func.now())
        )
