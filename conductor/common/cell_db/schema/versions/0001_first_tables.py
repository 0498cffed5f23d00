"""Create the tables of a cell."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from armillary.db import idempotency

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql")
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_JSON = sa.JSON(none_as_null=True)
_UUID = sa.String(36)
_NAME = sa.String(255)
_WORD = sa.String(36)


def upgrade() -> None:
    idempotency.create_table()
    _services()
    _host_events()
    _compute_nodes()
    _instances()
    _work("instance_builds", *_build_columns())
    _work("instance_deletes", *_delete_columns())
    _work("instance_operations", *_operation_columns())
    _migrations()
    _faults()
    _actions()


def _column(name: str, kind: Any, *, null: bool = False, **more: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=null, **more)


def _shadow_key(name: str, kind: Any) -> sa.Column[Any]:
    return _column(name, kind, primary_key=True, autoincrement=False)


def _index(table: str, *columns: str) -> None:
    op.create_index(f"ix_{table}_{columns[0]}", table, list(columns))


def _services() -> None:
    op.create_table(
        "services",
        _column("uuid", _UUID, primary_key=True),
        _column("host", _NAME),
        _column("binary", _WORD),
        _column("agent", _NAME, null=True),
        _column("version", sa.Integer()),
        _column("disabled", sa.Boolean()),
        _column("disabled_reason", _NAME, null=True),
        _column("forced_down", sa.Boolean()),
        _column("report_count", sa.BigInteger()),
        _column("last_seen_up", _TIME, null=True),
        _column("created_at", _TIME),
        _column("is_up", sa.Boolean()),
        _column("is_released", sa.Boolean()),
        _column("run", _UUID, null=True),
        _column("agent_seen_at", _TIME, null=True),
        _column("forced_down_at", _TIME, null=True),
        _column("fenced_at", _TIME, null=True),
        _column("fencing_until", _TIME, null=True),
        sa.UniqueConstraint("host", "binary", name="uq_services_host"),
    )
    _index("services", "agent")
    op.create_table(
        "service_figures",
        _column("host", _NAME, primary_key=True),
        _column("binary", _WORD, primary_key=True),
        _column("worker", sa.Integer(), primary_key=True, autoincrement=False),
        _column("figures", _JSON),
        _column("reported_at", _TIME),
    )
    op.create_table(
        "host_requests",
        _column("host", _NAME, primary_key=True),
        _column("agent", _NAME, primary_key=True),
        _column("is_approved", sa.Boolean()),
        _column("requested_at", _TIME),
    )


def _host_events() -> None:
    op.create_table(
        "host_events",
        _column("id", _NUMBER, primary_key=True),
        _column("host", _NAME),
        _column("event", _WORD),
        _column("reason", _NAME, null=True),
        _column("request_id", _NAME, null=True),
        _column("project_id", _NAME, null=True),
        _column("user_id", _NAME, null=True),
        _column("created_at", _TIME),
    )
    _index("host_events", "host", "created_at")
    _index("host_events", "created_at")


def _compute_nodes() -> None:
    op.create_table(
        "compute_nodes",
        _column("uuid", _UUID, primary_key=True),
        _column("host", _NAME),
        _column("node", _NAME),
        _column("attributes", _JSON),
        _column("inventories", _JSON),
        _column("traits", _JSON),
        _column("child_providers", _JSON, null=True),
        _column("sent_traits", _JSON),
        _column("seq", sa.BigInteger()),
        _column("provider_digest", sa.String(64)),
        _column("confirmed_digest", sa.String(64), null=True),
        _column("confirmed_at", _TIME, null=True),
        _column("allocation_ratios", _JSON),
        _column("created_at", _TIME),
        _column("updated_at", _TIME, null=True),
        sa.UniqueConstraint("host", "node", name="uq_compute_nodes_host"),
    )
    _index("compute_nodes", "seq")
    op.create_table(
        "node_removals",
        _column("node_uuid", _UUID, primary_key=True),
        _column("seq", sa.BigInteger()),
        _column("removed_at", _TIME),
    )
    _index("node_removals", "seq")
    counter = op.create_table(
        "host_state_seq",
        _column("id", sa.Integer(), primary_key=True, autoincrement=False),
        _column("value", sa.BigInteger()),
        _column("removals_from", sa.BigInteger()),
    )
    op.bulk_insert(counter, [{"id": 1, "value": 0, "removals_from": 0}])


def _instances() -> None:
    false, zero = sa.false(), sa.text("0")
    op.create_table("instances", *_instance_columns(locked=false, totals=zero))
    _index("instances", "created_at", "uuid")
    _index("instances", "project_id", "created_at", "uuid")
    for name in ("reservation_id", "host", "group_uuid", "deleted_at"):
        _index("instances", name)
    op.create_table("shadow_instances", *_instance_columns(locked=None, totals=None))
    _index("shadow_instances", "deleted_at")


def _instance_columns(*, locked: Any, totals: Any) -> list[sa.Column[Any]]:
    """Return the columns, with these defaults of the lock and of the counters."""
    return [
        _column("uuid", _UUID, primary_key=True),
        _column("name", _NAME),
        _column("project_id", _NAME),
        _column("user_id", _NAME),
        _column("reservation_id", _NAME),
        _column("request_id", _NAME, null=True),
        _column("launch_index", sa.Integer()),
        _column("flavor", _JSON),
        _column("image", _JSON, null=True),
        _column("metadata", _JSON),
        _column("settings", _JSON, null=True),
        _column("availability_zone", _NAME, null=True),
        _column("host", _NAME, null=True),
        _column("node", _NAME, null=True),
        _column("vm_state", _WORD),
        _column("task_state", _WORD, null=True),
        _column("power_state", _WORD, null=True),
        _column("addresses", _JSON, null=True),
        _column("attempt", sa.Integer()),
        _column("exit_code", sa.Integer(), null=True),
        _column("locked", sa.Boolean(), server_default=locked),
        _column("locked_reason", _NAME, null=True),
        _column("locked_by", _WORD, null=True),
        _column("migration_payload", _JSON, null=True),
        _column("operations_total", sa.Integer(), server_default=totals),
        _column("commands_total", sa.Integer(), server_default=totals),
        _column("group_uuid", _UUID, null=True),
        _column("hidden", sa.Boolean(), server_default=sa.false()),
        _column("created_at", _TIME),
        _column("updated_at", _TIME, null=True),
        _column("launched_at", _TIME, null=True),
        _column("deleted_at", _TIME, null=True),
    ]


def _work(table: str, *columns: sa.Column[Any]) -> None:
    op.create_table(
        table,
        _column("instance_uuid", _UUID, primary_key=True),
        *columns,
        _column("tries", sa.Integer()),
        _column("created_at", _TIME),
        _column("lease_owner", _NAME, null=True),
        _column("lease_expires_at", sa.Double()),
    )
    _index(table, "lease_expires_at")


def _build_columns() -> list[sa.Column[Any]]:
    return [
        _column("stage", _WORD),
        _column("attempt", sa.Integer()),
        _column("position", sa.Integer()),
        _column("fence", sa.Integer()),
        _column("selections", _JSON),
        _column("request_spec", _JSON),
    ]


def _delete_columns() -> list[sa.Column[Any]]:
    return [
        _column("is_guest_gone", sa.Boolean()),
        _column("other_hosts", _JSON, null=True),
        _column("request_id", _NAME),
    ]


def _operation_columns() -> list[sa.Column[Any]]:
    return [
        _column("operation", _WORD),
        _column("stage", _WORD),
        _column("sequence", sa.Integer()),
        _column("number", sa.Integer()),
        _column("migration_uuid", _UUID, null=True),
        _column("flow_state", _JSON),
        _column("context", _JSON),
    ]


def _migrations() -> None:
    op.create_table("migrations", *_migration_columns())
    _index("migrations", "instance_uuid", "created_at")
    _index("migrations", "source_host", "status")
    _index("migrations", "dest_host", "status")
    _index("migrations", "created_at", "uuid")
    op.create_table("shadow_migrations", *_migration_columns())
    _index("shadow_migrations", "instance_uuid")


def _migration_columns() -> list[sa.Column[Any]]:
    return [
        _column("uuid", _UUID, primary_key=True),
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
        _column("flow_state", _JSON),
        _column("request_id", _NAME, null=True),
        _column("project_id", _NAME, null=True),
        _column("user_id", _NAME, null=True),
        _column("created_at", _TIME),
        _column("updated_at", _TIME, null=True),
    ]


def _faults() -> None:
    op.create_table(
        "instance_faults",
        _column("id", _NUMBER, primary_key=True),
        _column("instance_uuid", _UUID),
        *_fault_columns(),
        sa.UniqueConstraint("instance_uuid", "attempt", name="uq_instance_faults_attempt"),
    )
    op.create_table(
        "shadow_instance_faults",
        _shadow_key("id", _NUMBER),
        _shadow_key("instance_uuid", _UUID),
        *_fault_columns(),
    )
    _index("shadow_instance_faults", "instance_uuid")


def _fault_columns() -> list[sa.Column[Any]]:
    return [
        _column("attempt", sa.Integer()),
        _column("host", _NAME, null=True),
        _column("code", sa.Integer()),
        _column("message", _NAME),
        _column("details", sa.Text(), null=True),
        _column("created_at", _TIME),
    ]


def _actions() -> None:
    op.create_table(
        "instance_actions",
        _column("id", _NUMBER, primary_key=True),
        _column("uuid", _UUID, unique=True),
        *_action_columns(),
        sa.UniqueConstraint(
            "instance_uuid", "action", "request_id", name="uq_instance_actions_instance_uuid"
        ),
    )
    op.create_table(
        "shadow_instance_actions",
        _column("id", _NUMBER),
        _shadow_key("uuid", _UUID),
        *_action_columns(),
    )
    _index("shadow_instance_actions", "instance_uuid")
    op.create_table(
        "instance_action_events",
        _column("id", _NUMBER, primary_key=True),
        _column("action_uuid", _UUID),
        *_event_columns(),
        sa.ForeignKeyConstraint(
            ["action_uuid"], ["instance_actions.uuid"], name="fk_events_action", ondelete="CASCADE"
        ),
    )
    _index("instance_action_events", "action_uuid")
    _index("instance_action_events", "host", "start_time")
    op.create_table(
        "shadow_instance_action_events",
        _shadow_key("id", _NUMBER),
        _shadow_key("action_uuid", _UUID),
        *_event_columns(),
    )
    _index("shadow_instance_action_events", "action_uuid")


def _action_columns() -> list[sa.Column[Any]]:
    return [
        _column("instance_uuid", _UUID),
        _column("action", _WORD),
        _column("request_id", _NAME),
        _column("project_id", _NAME, null=True),
        _column("user_id", _NAME, null=True),
        _column("start_time", _TIME),
        _column("finish_time", _TIME, null=True),
        _column("message", _NAME, null=True),
    ]


def _event_columns() -> list[sa.Column[Any]]:
    return [
        _column("event", _WORD),
        _column("host", _NAME, null=True),
        _column("attempt", sa.Integer()),
        _column("start_time", _TIME),
        _column("finish_time", _TIME, null=True),
        _column("result", _WORD, null=True),
        _column("details", sa.Text(), null=True),
    ]
