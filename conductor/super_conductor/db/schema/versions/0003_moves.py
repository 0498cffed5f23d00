"""Add moves of instances that need a host, and the quota flag of a resize in progress."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql")
_JSON = sa.JSON(none_as_null=True)
_UUID = sa.String(36)


def upgrade() -> None:
    op.create_table(
        "moves",
        sa.Column("migration_uuid", _UUID, primary_key=True),
        sa.Column("instance_uuid", _UUID, nullable=False),
        sa.Column("cell_uuid", _UUID, nullable=False),
        sa.Column("operation", sa.String(36), nullable=False),
        sa.Column("arguments", _JSON, nullable=False),
        sa.Column("context", _JSON, nullable=False),
        sa.Column("takes", sa.Integer(), nullable=False),
        sa.Column("accepted_at", _TIME, nullable=False),
        sa.Column("lease_owner", sa.String(255)),
        sa.Column("lease_expires_at", sa.Double(), nullable=False),
        sa.UniqueConstraint("instance_uuid", name="uq_moves_instance_uuid"),
    )
    op.add_column(
        "instance_mappings",
        sa.Column("is_resizing", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    op.create_index("ix_moves_lease_expires_at", "moves", ["lease_expires_at"])
