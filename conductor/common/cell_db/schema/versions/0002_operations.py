"""Add operations on instances after their build, migrations and locks."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql")
_JSON = sa.JSON(none_as_null=True)
_UUID = sa.String(36)
_NAME = sa.String(255)
_WORD = sa.String(36)


def upgrade() -> None:
    _instances()
    _operations()
    _migrations()


def _column(name: str, kind: Any, *, null: bool = False, **more: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=null, **more)


def _instances() -> None:
    for column in (
        _column("locked", sa.Boolean(), server_default=sa.false()),
        _column("locked_reason", _NAME, null=True),
        _column("luggage", _JSON, null=True),
        _column("operations_total", sa.Integer(), server_default=sa.text("0")),
        _column("orders_total", sa.Integer(), server_default=sa.text("0")),
    ):
        op.add_column("instances", column)


def _operations() -> None:
    op.create_table(
        "instance_operations",
        _column("instance_uuid", _UUID, primary_key=True),
        _column("operation", _WORD),
        _column("stage", _WORD),
        _column("sequence", sa.Integer()),
        _column("number", sa.Integer()),
        _column("migration_uuid", _UUID, null=True),
        _column("facts", _JSON),
        _column("context", _JSON),
        _column("tries", sa.Integer()),
        _column("created_at", _TIME),
        _column("lease_owner", _NAME, null=True),
        _column("lease_expires_at", sa.Double()),
    )
    op.create_index(
        "ix_instance_operations_lease_expires_at", "instance_operations", ["lease_expires_at"]
    )


def _migrations() -> None:
    op.create_table(
        "migrations",
        _column("uuid", _UUID, primary_key=True),
        _column("instance_uuid", _UUID),
        _column("migration_type", _WORD),
        _column("status", _WORD),
        *(
            _column(f"{side}_{what}", _NAME, null=True)
            for side in ("source", "dest")
            for what in ("host", "node")
        ),
        _column("old_flavor", _JSON, null=True),
        _column("new_flavor", _JSON, null=True),
        _column("memory_total_mb", sa.Integer(), null=True),
        _column("memory_remaining_mb", sa.Integer(), null=True),
        _column("facts", _JSON),
        _column("request_id", _NAME, null=True),
        _column("project_id", _NAME, null=True),
        _column("user_id", _NAME, null=True),
        _column("created_at", _TIME),
        _column("updated_at", _TIME, null=True),
    )
    for columns in (
        ("instance_uuid", "created_at"),
        ("source_host", "status"),
        ("dest_host", "status"),
        ("created_at", "uuid"),
    ):
        op.create_index(f"ix_migrations_{columns[0]}", "migrations", list(columns))
