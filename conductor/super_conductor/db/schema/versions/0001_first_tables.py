"""Create the tables of the API database."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql")
_JSON = sa.JSON(none_as_null=True)
_UUID = sa.String(36)
_NAME = sa.String(255)
_WORD = sa.String(36)
_ZONE_NAME = sa.String(64)
_ZONE_PATH = sa.String(700)


def upgrade() -> None:
    _cells()
    _flavors_and_images()
    _aggregates()
    _server_groups()
    _quotas()
    _requests()
    _instances()
    _cleanups()
    _moves()
    _traces()
    _zones()


def _column(name: str, kind: Any, *, null: bool = False, **more: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=null, **more)


def _index(table: str, *columns: str) -> None:
    op.create_index(f"ix_{table}_{columns[0]}", table, list(columns))


def _unique(table: str, column: str) -> sa.UniqueConstraint:
    return sa.UniqueConstraint(column, name=f"uq_{table}_{column}")


def _times() -> list[sa.Column[Any]]:
    return [_column("created_at", _TIME), _column("updated_at", _TIME, null=True)]


def _lease() -> list[sa.Column[Any]]:
    return [_column("lease_owner", _NAME, null=True), _column("lease_expires_at", sa.Double())]


def _cells() -> None:
    op.create_table(
        "cells",
        _column("uuid", _UUID, primary_key=True),
        _column("name", _NAME),
        _column("transport_url", sa.Text()),
        _column("disabled", sa.Boolean()),
        *_times(),
        _unique("cells", "name"),
    )
    op.create_table(
        "host_mappings",
        _column("host", _NAME, primary_key=True),
        _column("cell_uuid", _UUID),
        _column("node_uuids", _JSON),
        sa.ForeignKeyConstraint(["cell_uuid"], ["cells.uuid"], name="fk_host_mappings_cell"),
    )
    _index("host_mappings", "cell_uuid")
    counter = op.create_table(
        "facts_seq",
        _column("id", sa.Integer(), primary_key=True, autoincrement=False),
        _column("value", sa.BigInteger()),
    )
    op.bulk_insert(counter, [{"id": 1, "value": 1}])


def _flavors_and_images() -> None:
    op.create_table(
        "flavors",
        _column("flavorid", _NAME, primary_key=True),
        _column("name", _NAME),
        _column("vcpus", sa.Integer()),
        _column("memory_mb", sa.Integer()),
        _column("root_gb", sa.Integer()),
        _column("ephemeral_gb", sa.Integer()),
        _column("swap_mb", sa.Integer()),
        _column("extra_specs", _JSON),
        _column("is_public", sa.Boolean()),
        _column("disabled", sa.Boolean()),
        _column("description", sa.Text(), null=True),
        *_times(),
        _unique("flavors", "name"),
    )
    op.create_table(
        "images",
        _column("id", _UUID, primary_key=True),
        _column("name", _NAME),
        _column("status", _WORD),
        _column("disk_format", _WORD, null=True),
        _column("min_ram_mb", sa.Integer()),
        _column("min_disk_gb", sa.Integer()),
        _column("size_bytes", sa.BigInteger()),
        _column("properties", _JSON),
        *_times(),
    )
    _index("images", "name")


def _aggregates() -> None:
    op.create_table(
        "aggregates",
        _column("id", sa.Integer(), primary_key=True),
        _column("uuid", _UUID),
        _column("name", _NAME),
        _column("metadata", _JSON),
        *_times(),
        _unique("aggregates", "uuid"),
        _unique("aggregates", "name"),
    )
    op.create_table(
        "aggregate_hosts",
        _column("aggregate_id", sa.Integer(), primary_key=True, autoincrement=False),
        _column("host", _NAME, primary_key=True),
        sa.ForeignKeyConstraint(
            ["aggregate_id"],
            ["aggregates.id"],
            name="fk_aggregate_hosts_aggregate",
            ondelete="CASCADE",
        ),
    )
    _index("aggregate_hosts", "host")


def _server_groups() -> None:
    op.create_table(
        "server_groups",
        _column("uuid", _UUID, primary_key=True),
        _column("name", _NAME),
        _column("project_id", _NAME),
        _column("user_id", _NAME),
        _column("policy", _WORD),
        _column("rules", _JSON),
        _column("created_at", _TIME),
    )
    _index("server_groups", "project_id")
    op.create_table(
        "server_group_members",
        _column("group_uuid", _UUID, primary_key=True),
        _column("instance_uuid", _UUID, primary_key=True),
        sa.ForeignKeyConstraint(
            ["group_uuid"],
            ["server_groups.uuid"],
            name="fk_server_group_members_group",
            ondelete="CASCADE",
        ),
    )
    _index("server_group_members", "instance_uuid")


def _quotas() -> None:
    op.create_table(
        "projects",
        _column("project_id", _NAME, primary_key=True),
        _column("changes", sa.BigInteger()),
    )
    op.create_table(
        "quota_limits",
        _column("project_id", _NAME, primary_key=True),
        _column("resource", _WORD, primary_key=True),
        _column("hard_limit", sa.Integer()),
    )


def _requests() -> None:
    op.create_table(
        "reservations",
        _column("reservation_id", _WORD, primary_key=True),
        _column("project_id", _NAME),
        _column("stage", _WORD),
        _column("fence", sa.Integer()),
        _column("context", _JSON),
        _column("accepted_at", _TIME),
        _column("failure", sa.Text(), null=True),
        _column("verdict", _JSON, null=True),
        *_lease(),
    )
    _index("reservations", "lease_expires_at")
    op.create_table(
        "build_requests",
        _column("instance_uuid", _UUID, primary_key=True),
        _column("reservation_id", _WORD),
        _column("project_id", _NAME),
        _column("name", _NAME),
        _column("launch_index", sa.Integer()),
        _column("instance", _JSON),
        _column("is_deleting", sa.Boolean()),
        _column("created_at", _TIME),
        sa.ForeignKeyConstraint(
            ["reservation_id"],
            ["reservations.reservation_id"],
            name="fk_build_requests_reservation",
        ),
    )
    _index("build_requests", "created_at", "instance_uuid")
    _index("build_requests", "reservation_id")
    op.create_table(
        "build_selections",
        _column("instance_uuid", _UUID, primary_key=True),
        _column("cell_uuid", _UUID),
        _column("fence", sa.Integer()),
        _column("selections", _JSON),
        sa.ForeignKeyConstraint(
            ["instance_uuid"],
            ["build_requests.instance_uuid"],
            name="fk_build_selections_request",
            ondelete="CASCADE",
        ),
    )
    _index("build_selections", "cell_uuid")
    op.create_table(
        "request_specs",
        _column("instance_uuid", _UUID, primary_key=True),
        _column("spec", _JSON),
    )


def _instances() -> None:
    op.create_table(
        "instance_mappings",
        _column("instance_uuid", _UUID, primary_key=True),
        _column("cell_uuid", _UUID, null=True),
        _column("reservation_id", _WORD),
        _column("project_id", _NAME),
        _column("user_id", _NAME),
        _column("vcpus", sa.Integer()),
        _column("memory_mb", sa.Integer()),
        _column("is_resizing", sa.Boolean(), server_default=sa.false()),
        _column("resize_asked_at", _TIME, null=True),
        _column("zone_path", _ZONE_PATH, null=True),
        _column("queued_for_delete", sa.Boolean()),
        _column("deleted_at", _TIME, null=True),
    )
    _index("instance_mappings", "project_id", "queued_for_delete")
    for name in ("cell_uuid", "reservation_id", "zone_path", "deleted_at"):
        _index("instance_mappings", name)


def _cleanups() -> None:
    op.create_table(
        "cleanups",
        _column("instance_uuid", _UUID, primary_key=True),
        _column("task", _WORD, primary_key=True),
        _column("cell_uuid", _UUID, null=True),
        _column("context", _JSON),
        _column("migration_uuid", _UUID, null=True),
        _column("zone_path", _ZONE_PATH, null=True),
        *_lease(),
    )
    _index("cleanups", "lease_expires_at")


def _moves() -> None:
    op.create_table(
        "moves",
        _column("migration_uuid", _UUID, primary_key=True),
        _column("instance_uuid", _UUID),
        _column("cell_uuid", _UUID),
        _column("operation", _WORD),
        _column("arguments", _JSON),
        _column("context", _JSON),
        _column("takes", sa.Integer()),
        _column("accepted_at", _TIME),
        *_lease(),
        _unique("moves", "instance_uuid"),
    )
    _index("moves", "lease_expires_at")
    op.create_table(
        "cell_changes",
        _column("migration_uuid", _UUID, primary_key=True),
        _column("instance_uuid", _UUID),
        _column("source_cell_uuid", _UUID),
        _column("target_cell_uuid", _UUID, null=True),
        _column("created_at", _TIME),
    )
    _index("cell_changes", "instance_uuid")


def _traces() -> None:
    op.create_table(
        "decision_traces",
        _column("reservation_id", _WORD, primary_key=True),
        _column("trace", _JSON),
        _column("stored_at", _TIME),
    )
    _index("decision_traces", "stored_at")
    op.create_table(
        "instance_choices",
        _column("instance_uuid", _UUID, primary_key=True),
        _column("reservation_id", _WORD),
        _column("choice", _JSON),
    )
    _index("instance_choices", "reservation_id")
    op.create_table(
        "move_traces",
        _column("migration_uuid", _UUID, primary_key=True),
        _column("instance_uuid", _UUID),
        _column("operation", _WORD),
        _column("request_id", _NAME, null=True),
        _column("host", _NAME, null=True),
        _column("sentence", sa.Text(), null=True),
        _column("trace", _JSON),
        _column("stored_at", _TIME),
    )
    _index("move_traces", "instance_uuid", "stored_at")
    _index("move_traces", "stored_at")


def _zones() -> None:
    op.create_table(
        "zones",
        _column("uuid", _UUID, primary_key=True),
        _column("name", _ZONE_NAME),
        _column("transport_url", sa.Text()),
        _column("disabled", sa.Boolean()),
        *_times(),
        _unique("zones", "name"),
    )
    op.create_table(
        "zone_entries",
        _column("reservation_id", _WORD, primary_key=True),
        _column("entries", _JSON),
        sa.ForeignKeyConstraint(
            ["reservation_id"],
            ["reservations.reservation_id"],
            name="fk_zone_entries_reservation",
            ondelete="CASCADE",
        ),
    )
    op.create_table(
        "zone_walks",
        _column("instance_uuid", _UUID, primary_key=True),
        _column("reservation_id", _WORD),
        _column("start", sa.Integer()),
        _column("step", sa.Integer()),
        _column("attempt", sa.Integer()),
        _column("state", _WORD),
        _column("path", _ZONE_PATH, null=True),
        _column("host_id", _NAME, null=True),
        _column("since", _TIME),
        _column("heard_at", _TIME),
        _column("failures", _JSON),
        sa.ForeignKeyConstraint(
            ["instance_uuid"],
            ["build_requests.instance_uuid"],
            name="fk_zone_walks_request",
            ondelete="CASCADE",
        ),
    )
    _index("zone_walks", "reservation_id")
    op.create_table(
        "zone_guests",
        _column("instance_uuid", _UUID, primary_key=True),
        _column("attempt", sa.Integer(), primary_key=True, autoincrement=False),
        _column("local_uuid", _UUID, null=True),
        _column("origin", _ZONE_NAME),
        _column("is_cancelled", sa.Boolean()),
        _column("created_at", _TIME),
        _unique("zone_guests", "local_uuid"),
    )
    _index("zone_guests", "created_at")
