"""Add the child providers of hosts, and the traits that the cell may have set in placement."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_JSON = sa.JSON(none_as_null=True)


def upgrade() -> None:
    for name in ("child_providers", "told"):
        op.add_column("compute_nodes", sa.Column(name, _JSON, nullable=True))
