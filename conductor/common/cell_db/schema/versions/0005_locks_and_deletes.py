"""Add who locked an instance, and the other hosts to notify of a delete."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("instances", "shadow_instances"):
        op.add_column(table, sa.Column("locked_by", sa.String(36), nullable=True))
    op.add_column(
        "instance_deletes", sa.Column("other_hosts", sa.JSON(none_as_null=True), nullable=True)
    )
