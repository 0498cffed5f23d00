"""Add copies and tombstones of instances in another cell."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("instances", "shadow_instances"):
        op.add_column(
            table, sa.Column("hidden", sa.Boolean(), nullable=False, server_default=sa.false())
        )
