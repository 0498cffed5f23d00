"""Add child zones, servers that were sent there, and servers that came from other zones."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql")
_JSON = sa.JSON(none_as_null=True)
_UUID = sa.String(36)
_PATH = sa.String(700)


def upgrade() -> None:
    op.create_table(
        "zones",
        sa.Column("uuid", _UUID, primary_key=True),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("transport_url", sa.Text(), nullable=False),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("updated_at", _TIME),
        sa.UniqueConstraint("name", name="uq_zones_name"),
    )
    op.create_table(
        "zone_entries",
        sa.Column(
            "reservation_id",
            sa.String(36),
            sa.ForeignKey(
                "reservations.reservation_id",
                ondelete="CASCADE",
                name="fk_zone_entries_reservation",
            ),
            primary_key=True,
        ),
        sa.Column("entries", _JSON, nullable=False),
    )
    op.create_table(
        "zone_walks",
        sa.Column(
            "instance_uuid",
            _UUID,
            sa.ForeignKey(
                "build_requests.instance_uuid", ondelete="CASCADE", name="fk_zone_walks_request"
            ),
            primary_key=True,
        ),
        sa.Column("reservation_id", sa.String(36), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(36), nullable=False),
        sa.Column("path", _PATH),
        sa.Column("host_id", sa.String(255)),
        sa.Column("since", _TIME, nullable=False),
        sa.Column("heard_at", _TIME, nullable=False),
        sa.Column("failures", _JSON, nullable=False),
    )
    op.create_index("ix_zone_walks_reservation_id", "zone_walks", ["reservation_id"])
    op.create_table(
        "zone_guests",
        sa.Column("instance_uuid", _UUID, primary_key=True),
        sa.Column("attempt", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("local_uuid", _UUID),
        sa.Column("origin", sa.String(64), nullable=False),
        sa.Column("is_cancelled", sa.Boolean(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.UniqueConstraint("local_uuid", name="uq_zone_guests_local_uuid"),
    )
    op.create_index("ix_zone_guests_created_at", "zone_guests", ["created_at"])
    op.add_column("instance_mappings", sa.Column("zone_path", _PATH))
    op.create_index("ix_instance_mappings_zone_path", "instance_mappings", ["zone_path"])
    op.add_column("cleanups", sa.Column("zone_path", _PATH))
