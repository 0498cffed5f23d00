"""Create the tables: providers, inventories, consumers, allocations and the epoch."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from armillary.db import idempotency

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    idempotency.create_table()
    _create_epoch()
    _create_name_tables()
    _create_providers()
    _create_amounts()
    _create_consumers()


def _create_epoch() -> None:
    epoch = op.create_table(
        "placement_epoch",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("facts_epoch", sa.BigInteger, nullable=False),
        sa.Column("forgotten_epoch", sa.BigInteger, nullable=False),
    )
    op.bulk_insert(epoch, [{"id": 1, "epoch": 0, "facts_epoch": 0, "forgotten_epoch": 0}])


def _create_name_tables() -> None:
    for table in ("resource_classes", "traits"):
        op.create_table(
            table,
            sa.Column("id", _ID, primary_key=True),
            sa.Column("name", sa.String(255), nullable=False, unique=True),
            _updated_at(),
            sqlite_autoincrement=True,
        )
    op.create_table(
        "aggregates",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("uuid", sa.String(36), nullable=False, unique=True),
        sa.Column("members_order", sa.BigInteger, nullable=False, server_default="0"),
        sqlite_autoincrement=True,
    )


def _create_providers() -> None:
    op.create_table(
        "resource_providers",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("uuid", sa.String(36), nullable=False, unique=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False, index=True),
        sa.Column("root_provider_id", _ID, index=True),
        sa.Column("parent_provider_id", _ID, sa.ForeignKey("resource_providers.id"), index=True),
        _updated_at(),
        sa.Column("cell_uuid", sa.String(36)),
        sa.Column("report_order", sa.BigInteger, nullable=False, server_default="0"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "provider_tombstones",
        sa.Column("resource_provider_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("epoch", sa.BigInteger, nullable=False, index=True),
        sa.Column("deleted_at", sa.DateTime, nullable=False, index=True),
        sa.Column("uuid", sa.String(36), nullable=False, index=True),
        sa.Column("report_order", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "resource_provider_traits",
        _provider_key(),
        sa.Column("trait_id", _ID, sa.ForeignKey("traits.id"), primary_key=True, index=True),
    )
    op.create_table(
        "resource_provider_aggregates",
        _provider_key(),
        sa.Column(
            "aggregate_id", _ID, sa.ForeignKey("aggregates.id"), primary_key=True, index=True
        ),
    )


def _create_amounts() -> None:
    op.create_table(
        "inventories",
        _provider_key(),
        _class_key(index=True),
        sa.Column("total", sa.BigInteger, nullable=False),
        sa.Column("reserved", sa.BigInteger, nullable=False),
        sa.Column("min_unit", sa.BigInteger, nullable=False),
        sa.Column("max_unit", sa.BigInteger, nullable=False),
        sa.Column("step_size", sa.BigInteger, nullable=False),
        sa.Column("allocation_ratio", sa.Double, nullable=False),
    )
    op.create_table(
        "usages",
        _provider_key(),
        _class_key(),
        sa.Column("used", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False, index=True),
    )


def _create_consumers() -> None:
    op.create_table(
        "consumers",
        sa.Column("uuid", sa.String(36), primary_key=True),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("consumer_type", sa.String(255), nullable=False),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        _updated_at(),
        sa.Column("group_uuid", sa.String(36), index=True),
        sa.Column("group_place", sa.String(1000)),
        sa.Index("ix_consumers_project_id_user_id", "project_id", "user_id"),
    )
    op.create_table(
        "allocations",
        sa.Column(
            "consumer_uuid", sa.String(36), sa.ForeignKey("consumers.uuid"), primary_key=True
        ),
        _provider_key(index=True),
        _class_key(),
        sa.Column("amount", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "consumer_fences",
        sa.Column("consumer_uuid", sa.String(36), primary_key=True),
        sa.Column("fence", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.DateTime, nullable=False, index=True),
        sa.Column("cell_uuid", sa.String(36)),
        sa.Column("other_cell_uuid", sa.String(36)),
        sa.Column("project_id", sa.String(255)),
        sa.Column("user_id", sa.String(255)),
    )


def _updated_at() -> sa.Column[Any]:
    long_ago = sa.text("'1970-01-01 00:00:00'")
    return sa.Column("updated_at", sa.DateTime, nullable=False, server_default=long_ago)


def _provider_key(*, index: bool = False) -> sa.Column[int]:
    return sa.Column(
        "resource_provider_id",
        _ID,
        sa.ForeignKey("resource_providers.id"),
        primary_key=True,
        index=index,
    )


def _class_key(*, index: bool = False) -> sa.Column[int]:
    return sa.Column(
        "resource_class_id",
        _ID,
        sa.ForeignKey("resource_classes.id"),
        primary_key=True,
        index=index,
    )
