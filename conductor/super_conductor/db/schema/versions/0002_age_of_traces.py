"""Store when traces were stored, for their retention period.

Null is an older trace, or one by a conductor not upgraded yet: the next cleanup dates it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql")


def upgrade() -> None:
    op.add_column("decision_traces", sa.Column("stored_at", _TIME))
    op.create_index("ix_decision_traces_stored_at", "decision_traces", ["stored_at"])
