"""Add shadow tables for archived instances."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql")
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_JSON = sa.JSON(none_as_null=True)
_UUID = sa.String(36)
_NAME = sa.String(255)
_WORD = sa.String(36)


def upgrade() -> None:
    _instances()
    _migrations()
    _faults()
    _actions()
    for table, column in (
        ("shadow_instances", "deleted_at"),
        ("shadow_instance_faults", "instance_uuid"),
        ("shadow_instance_actions", "instance_uuid"),
        ("shadow_instance_action_events", "action_uuid"),
        ("shadow_migrations", "instance_uuid"),
    ):
        op.create_index(f"ix_{table}_{column}", table, [column])


def _column(name: str, kind: Any, *, null: bool = False, key: bool = False) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=null, primary_key=key, autoincrement=False)


def _instances() -> None:
    op.create_table(
        "shadow_instances",
        _column("uuid", _UUID, key=True),
        _column("name", _NAME),
        _column("project_id", _NAME),
        _column("user_id", _NAME),
        _column("reservation_id", _NAME),
        _column("request_id", _NAME, null=True),
        _column("launch_index", sa.Integer()),
        _column("flavor", _JSON),
        _column("image", _JSON, null=True),
        _column("metadata", _JSON),
        _column("availability_zone", _NAME, null=True),
        _column("host", _NAME, null=True),
        _column("node", _NAME, null=True),
        _column("vm_state", _WORD),
        _column("task_state", _WORD, null=True),
        _column("power_state", _WORD, null=True),
        _column("attempt", sa.Integer()),
        _column("exit_code", sa.Integer(), null=True),
        _column("locked", sa.Boolean()),
        _column("locked_reason", _NAME, null=True),
        _column("luggage", _JSON, null=True),
        _column("operations_total", sa.Integer()),
        _column("orders_total", sa.Integer()),
        _column("group_uuid", _UUID, null=True),
        _column("created_at", _TIME),
        _column("updated_at", _TIME, null=True),
        _column("launched_at", _TIME, null=True),
        _column("deleted_at", _TIME, null=True),
    )


def _migrations() -> None:
    op.create_table(
        "shadow_migrations",
        _column("uuid", _UUID, key=True),
        _column("instance_uuid", _UUID),
        _column("migration_type", _WORD),
        _column("status", _WORD),
        _column("source_host", _NAME, null=True),
        _column("source_node", _NAME, null=True),
        _column("dest_host", _NAME, null=True),
        _column("dest_node", _NAME, null=True),
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


def _faults() -> None:
    op.create_table(
        "shadow_instance_faults",
        _column("id", _NUMBER, key=True),
        _column("instance_uuid", _UUID, key=True),
        _column("attempt", sa.Integer()),
        _column("host", _NAME, null=True),
        _column("code", sa.Integer()),
        _column("message", _NAME),
        _column("details", sa.Text(), null=True),
        _column("created_at", _TIME),
    )


def _actions() -> None:
    op.create_table(
        "shadow_instance_actions",
        _column("id", _NUMBER),
        _column("uuid", _UUID, key=True),
        _column("instance_uuid", _UUID),
        _column("action", _WORD),
        _column("request_id", _NAME),
        _column("project_id", _NAME, null=True),
        _column("user_id", _NAME, null=True),
        _column("start_time", _TIME),
        _column("finish_time", _TIME, null=True),
        _column("message", _NAME, null=True),
    )
    op.create_table(
        "shadow_instance_action_events",
        _column("id", _NUMBER, key=True),
        _column("action_uuid", _UUID, key=True),
        _column("event", _WORD),
        _column("host", _NAME, null=True),
        _column("attempt", sa.Integer()),
        _column("start_time", _TIME),
        _column("finish_time", _TIME, null=True),
        _column("result", _WORD, null=True),
        _column("details", sa.Text(), null=True),
    )
