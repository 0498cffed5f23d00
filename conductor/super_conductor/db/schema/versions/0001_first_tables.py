"""Create the tables of the API database."""

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
_JSON = sa.JSON(none_as_null=True)
_UUID = sa.String(36)
_NAME = sa.String(255)
_WORD = sa.String(36)
_ZONE_NAME = sa.String(64)
_ZONE_PATH = sa.String(700)


def upgrade() -> None:
    idempotency.create_table()
    _cells()
    _flavors_and_images()
    _aggregates()
    _server_groups()
    _quotas()
    _requests()
    _instances()
    _cleanups()
    _moves()
    _claims()
    _traces()
    _zones()


def _column(name: str, kind: Any, *, null: bool = False, **more: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=null, **more)


def _columns(kind: Any, *names: str) -> list[sa.Column[Any]]:
    return [_column(name, kind) for name in names]


def _foreign_key(
    table: str, column: str, target: str, *, cascade: bool = False
) -> sa.ForeignKeyConstraint:
    """Return a foreign key named after the singular of the last word of its target's table."""
    noun = target.partition(".")[0].removesuffix("s").rpartition("_")[2]
    ondelete = "CASCADE" if cascade else None
    return sa.ForeignKeyConstraint([column], [target], name=f"fk_{table}_{noun}", ondelete=ondelete)


def _endpoints(table: str, name_type: sa.String, *more: sa.Column[Any]) -> None:
    """Create a table of records that can be reached: cells, zones."""
    op.create_table(
        table,
        _column("uuid", _UUID, primary_key=True),
        _column("name", name_type),
        _column("transport_url", sa.Text()),
        _column("disabled", sa.Boolean()),
        *more,
        *_times(),
        _unique(table, "name"),
    )


def _index(table: str, *columns: str) -> None:
    op.create_index(f"ix_{table}_{columns[0]}", table, list(columns))


def _unique(table: str, column: str) -> sa.UniqueConstraint:
    return sa.UniqueConstraint(column, name=f"uq_{table}_{column}")


def _times() -> list[sa.Column[Any]]:
    return [_column("created_at", _TIME), _column("updated_at", _TIME, null=True)]


def _lease() -> list[sa.Column[Any]]:
    return [_column("lease_owner", _NAME, null=True), _column("lease_expires_at", sa.Double())]


def _cells() -> None:
    _endpoints("cells", _NAME)
    op.create_table(
        "host_mappings",
        _column("host", _NAME, primary_key=True),
        _column("cell_uuid", _UUID),
        _column("node_uuids", _JSON),
        sa.Column("is_leaving", sa.Boolean, nullable=False, server_default=sa.false()),
        _foreign_key("host_mappings", "cell_uuid", "cells.uuid"),
    )
    _index("host_mappings", "cell_uuid")
    counter = op.create_table(
        "metadata_seq",
        _column("id", sa.Integer(), primary_key=True, autoincrement=False),
        *_columns(sa.BigInteger(), "value", "hosts_value", "members_value"),
        _column("zone_changes", _JSON, null=True),
    )
    op.bulk_insert(counter, [{"id": 1, "value": 1, "hosts_value": 1, "members_value": 0}])


def _flavors_and_images() -> None:
    op.create_table(
        "flavors",
        _column("flavorid", _NAME, primary_key=True),
        _column("name", _NAME),
        *_columns(sa.Integer(), "vcpus", "memory_mb", "root_gb", "ephemeral_gb", "swap_mb"),
        _column("rxtx_factor", sa.Double()),
        _column("extra_specs", _JSON),
        *_columns(sa.Boolean(), "is_public", "disabled"),
        _column("description", sa.Text(), null=True),
        *_times(),
        _unique("flavors", "name"),
    )
    op.create_table(
        "flavor_access",
        _column("flavorid", _NAME, primary_key=True),
        _column("project_id", _NAME, primary_key=True),
        _foreign_key("flavor_access", "flavorid", "flavors.flavorid", cascade=True),
    )
    op.create_table(
        "images",
        _column("id", _UUID, primary_key=True),
        _column("name", _NAME),
        _column("status", _WORD),
        _column("disk_format", _WORD, null=True),
        *_columns(sa.Integer(), "min_ram_mb", "min_disk_gb"),
        _column("size_bytes", sa.BigInteger()),
        _column("properties", _JSON),
        _column("owner", _NAME, null=True),
        _column("visibility", _WORD),
        *_columns(sa.Boolean(), "is_protected", "is_hidden"),
        *[_column(name, _WORD, null=True) for name in ("container_format", "checksum")],
        _column("sha512", sa.String(128), null=True),
        _column("virtual_size_bytes", sa.BigInteger(), null=True),
        *_columns(_JSON, "tags", "members"),
        _column("generation", sa.Integer()),
        *_times(),
    )
    op.create_table(
        "deleted_images", _column("id", _UUID, primary_key=True), _column("deleted_at", _TIME)
    )
    op.create_table(
        "key_pairs",
        _column("user_id", _NAME, primary_key=True),
        _column("name", _NAME, primary_key=True),
        _column("public_key", sa.Text()),
        _column("fingerprint", _NAME),
        _column("created_at", _TIME),
        _column("kind", _WORD),
        _column("request_id", _NAME),
    )
    op.create_table(
        "deployment_secrets", _column("name", _WORD, primary_key=True), _column("value", _NAME)
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
        _foreign_key("aggregate_hosts", "aggregate_id", "aggregates.id", cascade=True),
    )
    _index("aggregate_hosts", "host")


def _server_groups() -> None:
    op.create_table(
        "server_groups",
        _column("uuid", _UUID, primary_key=True),
        *_columns(_NAME, "name", "project_id", "user_id"),
        _column("policy", _WORD),
        _column("rules", _JSON),
        _column("created_at", _TIME),
    )
    _index("server_groups", "project_id")
    op.create_table(
        "server_group_members",
        _column("group_uuid", _UUID, primary_key=True),
        _column("instance_uuid", _UUID, primary_key=True),
        _foreign_key("server_group_members", "group_uuid", "server_groups.uuid", cascade=True),
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
        _column("resource", _NAME, primary_key=True),
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
        *_columns(_NAME, "project_id", "name"),
        _column("launch_index", sa.Integer()),
        _column("instance", _JSON),
        _column("is_deleting", sa.Boolean()),
        _column("created_at", _TIME),
        _foreign_key("build_requests", "reservation_id", "reservations.reservation_id"),
    )
    _index("build_requests", "created_at", "instance_uuid")
    _index("build_requests", "reservation_id")
    op.create_table(
        "build_selections",
        _column("instance_uuid", _UUID, primary_key=True),
        _column("cell_uuid", _UUID),
        _column("fence", sa.Integer()),
        _column("selections", _JSON),
        _foreign_key(
            "build_selections", "instance_uuid", "build_requests.instance_uuid", cascade=True
        ),
    )
    _index("build_selections", "cell_uuid")
    op.create_table(
        "request_specs", _column("instance_uuid", _UUID, primary_key=True), _column("spec", _JSON)
    )


def _instances() -> None:
    op.create_table(
        "instance_mappings",
        _column("instance_uuid", _UUID, primary_key=True),
        _column("cell_uuid", _UUID, null=True),
        _column("reservation_id", _WORD),
        *_columns(_NAME, "project_id", "user_id"),
        *_columns(sa.Integer(), "vcpus", "memory_mb"),
        _column("is_resizing", sa.Boolean(), server_default=sa.false()),
        _column("resize_asked_at", _TIME, null=True),
        _column("zone_path", _ZONE_PATH, null=True),
        _column("created_at", _TIME),
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
        *_columns(_UUID, "instance_uuid", "cell_uuid"),
        _column("operation", _WORD),
        *_columns(_JSON, "arguments", "context"),
        _column("takes", sa.Integer()),
        _column("accepted_at", _TIME),
        _column("hosts", _JSON, null=True),
        *_lease(),
        _unique("moves", "instance_uuid"),
    )
    _index("moves", "lease_expires_at")
    op.create_table(
        "cell_changes",
        _column("migration_uuid", _UUID, primary_key=True),
        *_columns(_UUID, "instance_uuid", "source_cell_uuid"),
        _column("target_cell_uuid", _UUID, null=True),
        _column("created_at", _TIME),
    )
    _index("cell_changes", "instance_uuid")
    op.create_table(
        "deferred_operations",
        _column("instance_uuid", _UUID, primary_key=True),
        _column("operation", _WORD),
        *_columns(_JSON, "arguments", "context"),
        _column("tries", sa.Integer()),
        _column("accepted_at", _TIME),
        *_lease(),
    )
    _index("deferred_operations", "lease_expires_at")


def _claims() -> None:
    op.create_table(
        "claims",
        _column("uuid", _UUID, primary_key=True),
        *_columns(_NAME, "project_id", "user_id"),
        _column("kind", _WORD),
        _column("asked", _JSON),
        _column("server_uuid", _UUID, null=True),
        _column("ends_at", _TIME, null=True),
        _column("state", _WORD),
        _column("pool_uuid", _UUID, null=True),
        _column("pool_name", _NAME, null=True),
        _column("zone", _ZONE_PATH, null=True),
        _column("alternates", _JSON),
        _column("fault", sa.Text(), null=True),
        _column("trace", _JSON, null=True),
        _column("context", _JSON),
        _column("takes", sa.Integer()),
        _column("created_at", _TIME),
        _column("updated_at", _TIME, null=True),
        *_lease(),
    )
    op.create_index("ix_claims_project_id", "claims", ["project_id", "created_at"])
    _index("claims", "server_uuid")
    _index("claims", "lease_expires_at")


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
    _endpoints("zones", _ZONE_NAME, *_columns(sa.Double(), "weight_offset", "weight_scale"))
    op.create_table(
        "zone_entries",
        _column("reservation_id", _WORD, primary_key=True),
        *_columns(_JSON, "entries", "silent"),
        _foreign_key("zone_entries", "reservation_id", "reservations.reservation_id", cascade=True),
    )
    op.create_table(
        "zone_walks",
        _column("instance_uuid", _UUID, primary_key=True),
        _column("reservation_id", _WORD),
        *_columns(sa.Integer(), "start", "step", "attempt"),
        _column("state", _WORD),
        _column("path", _ZONE_PATH, null=True),
        _column("host_id", _NAME, null=True),
        *_columns(_TIME, "since", "heard_at"),
        _column("failures", _JSON),
        _foreign_key("zone_walks", "instance_uuid", "build_requests.instance_uuid", cascade=True),
    )
    _index("zone_walks", "reservation_id")
    op.create_table(
        "zone_guests",
        _column("instance_uuid", _UUID, primary_key=True),
        _column("attempt", sa.Integer(), primary_key=True, autoincrement=False),
        _column("parent", _ZONE_PATH, primary_key=True),
        _column("local_uuid", _UUID, null=True),
        _column("origin", _ZONE_NAME),
        _column("is_cancelled", sa.Boolean()),
        _column("created_at", _TIME),
        _column("image_ticket", _JSON, null=True),
        _unique("zone_guests", "local_uuid"),
    )
    _index("zone_guests", "created_at")
