"""Add decision traces of moves."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql")
_JSON = sa.JSON(none_as_null=True)
_UUID = sa.String(36)


def upgrade() -> None:
    op.create_table(
        "move_traces",
        sa.Column("migration_uuid", _UUID, primary_key=True),
        sa.Column("instance_uuid", _UUID, nullable=False),
        sa.Column("operation", sa.String(36), nullable=False),
        sa.Column("request_id", sa.String(255)),
        sa.Column("host", sa.String(255)),
        sa.Column("sentence", sa.Text()),
        sa.Column("trace", _JSON, nullable=False),
        sa.Column("stored_at", _TIME, nullable=False),
    )
    op.create_index("ix_move_traces_instance_uuid", "move_traces", ["instance_uuid", "stored_at"])
    op.create_index("ix_move_traces_stored_at", "move_traces", ["stored_at"])
