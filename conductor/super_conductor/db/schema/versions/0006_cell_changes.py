"""Add moves between cells, and their cleanups."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql")
_UUID = sa.String(36)


def upgrade() -> None:
    op.create_table(
        "cell_changes",
        sa.Column("migration_uuid", _UUID, primary_key=True),
        sa.Column("instance_uuid", _UUID, nullable=False),
        sa.Column("source_cell_uuid", _UUID, nullable=False),
        sa.Column("target_cell_uuid", _UUID),
        sa.Column("created_at", _TIME, nullable=False),
    )
    op.create_index("ix_cell_changes_instance_uuid", "cell_changes", ["instance_uuid"])
    op.add_column("cleanups", sa.Column("migration_uuid", _UUID, nullable=True))
