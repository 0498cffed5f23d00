"""Tables of the placement database.

Names of classes, traits and aggregates are stored as ids, since a fleet repeats them by the
million. An id is never reused (SQLite must be told), because readers remember providers by theirs.
"""

import datetime as dt

from sqlalchemy import BigInteger, DateTime, Double, ForeignKey, Index, Integer, String, Table, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from armillary.db.idempotency import IdempotencyRecordMixin

UUID_LENGTH = 36
NAME_LENGTH = 255
PROVIDER_NAME_LENGTH = 200
GROUP_PLACE_LENGTH = 1000

# SQLite increments only columns of type INTEGER automatically; these hold 64 bits there.
_Id = BigInteger().with_variant(Integer(), "sqlite")
_NEVER_AGAIN = {"sqlite_autoincrement": True}
_LONG_AGO = text("'1970-01-01 00:00:00'")  # of rows that an operator inserts without a time


class Base(DeclarativeBase):
    """Base of all models."""

    @classmethod
    def table(cls) -> Table:
        """Return the table, for statements about many rows."""
        assert isinstance(cls.__table__, Table)
        return cls.__table__


class IdempotencyRecord(IdempotencyRecordMixin, Base):
    """A received request and its answer."""


class PlacementEpoch(Base):
    """The single row that serialises all writes: each writer locks it first.

    ``epoch`` is that of the last write, ``facts_epoch`` that of the last write that changed more
    than usage. Deletions up to ``forgotten_epoch`` no longer have tombstones.
    """

    __tablename__ = "placement_epoch"

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    epoch: Mapped[int] = mapped_column(BigInteger)
    facts_epoch: Mapped[int] = mapped_column(BigInteger)
    forgotten_epoch: Mapped[int] = mapped_column(BigInteger)


class ResourceClass(Base):
    """A resource class that was created, or used once."""

    __tablename__ = "resource_classes"
    __table_args__ = _NEVER_AGAIN

    id: Mapped[int] = mapped_column(_Id, primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME_LENGTH), unique=True)
    updated_at: Mapped[dt.datetime] = mapped_column(DateTime, server_default=_LONG_AGO)


class Trait(Base):
    """A trait that was created, or that some provider had once."""

    __tablename__ = "traits"
    __table_args__ = _NEVER_AGAIN

    id: Mapped[int] = mapped_column(_Id, primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME_LENGTH), unique=True)
    updated_at: Mapped[dt.datetime] = mapped_column(DateTime, server_default=_LONG_AGO)


class Aggregate(Base):
    """A set of providers, identified by its UUID.

    ``members_order`` is that of the last message which set all of its members.
    """

    __tablename__ = "aggregates"
    __table_args__ = _NEVER_AGAIN

    id: Mapped[int] = mapped_column(_Id, primary_key=True)
    uuid: Mapped[str] = mapped_column(String(UUID_LENGTH), unique=True)
    members_order: Mapped[int] = mapped_column(BigInteger, server_default="0")


class ResourceProvider(Base):
    """A resource provider. A single one is the root of its own tree.

    Its root is not a foreign key: MySQL would not delete a row that refers to itself. ``epoch`` is
    that of the last write to anything but its usage, ``updated_at`` the time of its generation.
    """

    __tablename__ = "resource_providers"
    __table_args__ = _NEVER_AGAIN

    id: Mapped[int] = mapped_column(_Id, primary_key=True)
    uuid: Mapped[str] = mapped_column(String(UUID_LENGTH), unique=True)
    name: Mapped[str] = mapped_column(String(PROVIDER_NAME_LENGTH), unique=True)
    generation: Mapped[int] = mapped_column(BigInteger)
    epoch: Mapped[int] = mapped_column(BigInteger, index=True)
    root_provider_id: Mapped[int | None] = mapped_column(_Id, index=True)
    parent_provider_id: Mapped[int | None] = mapped_column(
        ForeignKey("resource_providers.id"), index=True
    )
    updated_at: Mapped[dt.datetime] = mapped_column(DateTime, server_default=_LONG_AGO)
    cell_uuid: Mapped[str | None] = mapped_column(String(UUID_LENGTH))
    """The cell that owns it: see ``placement.ownership``."""
    report_order: Mapped[int] = mapped_column(BigInteger, server_default="0")
    """That of its owner's last report: see ``ProviderReport``."""


class Inventory(Base):
    """Amount of a class that a provider has."""

    __tablename__ = "inventories"

    resource_provider_id: Mapped[int] = mapped_column(
        ForeignKey("resource_providers.id"), primary_key=True
    )
    resource_class_id: Mapped[int] = mapped_column(
        ForeignKey("resource_classes.id"), primary_key=True, index=True
    )
    total: Mapped[int] = mapped_column(BigInteger)
    reserved: Mapped[int] = mapped_column(BigInteger)
    min_unit: Mapped[int] = mapped_column(BigInteger)
    max_unit: Mapped[int] = mapped_column(BigInteger)
    step_size: Mapped[int] = mapped_column(BigInteger)
    allocation_ratio: Mapped[float] = mapped_column(Double)


INVENTORY_FIGURES = (
    Inventory.total,
    Inventory.reserved,
    Inventory.min_unit,
    Inventory.max_unit,
    Inventory.step_size,
    Inventory.allocation_ratio,
)
"""Columns of an inventory, in the order of ``placement.providers.inventory.Inventory``."""


class Usage(Base):
    """Total of a provider's allocations of a class, maintained by their writers; no row: none.

    It is a table, not a query, so that a claim costs the same on a provider with a hundred thousand
    consumers. ``epoch`` is that of its last change.
    """

    __tablename__ = "usages"

    resource_provider_id: Mapped[int] = mapped_column(
        ForeignKey("resource_providers.id"), primary_key=True
    )
    resource_class_id: Mapped[int] = mapped_column(
        ForeignKey("resource_classes.id"), primary_key=True
    )
    used: Mapped[int] = mapped_column(BigInteger)
    epoch: Mapped[int] = mapped_column(BigInteger, index=True)


class Consumer(Base):
    """A consumer with allocations; others have no row.

    The group columns are those of ``placement.ledger.group_places``, for server groups' members.
    """

    __tablename__ = "consumers"
    __table_args__ = (Index("ix_consumers_project_id_user_id", "project_id", "user_id"),)

    uuid: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    generation: Mapped[int] = mapped_column(BigInteger)
    consumer_type: Mapped[str] = mapped_column(String(NAME_LENGTH))
    project_id: Mapped[str] = mapped_column(String(NAME_LENGTH))
    user_id: Mapped[str] = mapped_column(String(NAME_LENGTH))
    updated_at: Mapped[dt.datetime] = mapped_column(DateTime, server_default=_LONG_AGO)
    group_uuid: Mapped[str | None] = mapped_column(String(UUID_LENGTH), index=True)
    group_place: Mapped[str | None] = mapped_column(String(GROUP_PLACE_LENGTH))


class Allocation(Base):
    """Amount allocated to a consumer from a provider."""

    __tablename__ = "allocations"

    consumer_uuid: Mapped[str] = mapped_column(ForeignKey("consumers.uuid"), primary_key=True)
    resource_provider_id: Mapped[int] = mapped_column(
        ForeignKey("resource_providers.id"), primary_key=True, index=True
    )
    resource_class_id: Mapped[int] = mapped_column(
        ForeignKey("resource_classes.id"), primary_key=True
    )
    amount: Mapped[int] = mapped_column(BigInteger)


class ResourceProviderTrait(Base):
    """Association of a provider with a trait."""

    __tablename__ = "resource_provider_traits"

    resource_provider_id: Mapped[int] = mapped_column(
        ForeignKey("resource_providers.id"), primary_key=True
    )
    trait_id: Mapped[int] = mapped_column(ForeignKey("traits.id"), primary_key=True, index=True)


class ResourceProviderAggregate(Base):
    """Association of a provider with an aggregate."""

    __tablename__ = "resource_provider_aggregates"

    resource_provider_id: Mapped[int] = mapped_column(
        ForeignKey("resource_providers.id"), primary_key=True
    )
    aggregate_id: Mapped[int] = mapped_column(
        ForeignKey("aggregates.id"), primary_key=True, index=True
    )


class ConsumerFence(Base):
    """The highest fence seen for a consumer, with or without allocations.

    The cells are those of ``placement.ownership.ConsumerCells``, project and user the last that the
    consumer had allocations for: those of ``placement.ownership.ConsumerOwner``.
    """

    __tablename__ = "consumer_fences"

    consumer_uuid: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    fence: Mapped[int] = mapped_column(BigInteger)
    updated_at: Mapped[dt.datetime] = mapped_column(DateTime, index=True)
    cell_uuid: Mapped[str | None] = mapped_column(String(UUID_LENGTH))
    other_cell_uuid: Mapped[str | None] = mapped_column(String(UUID_LENGTH))
    project_id: Mapped[str | None] = mapped_column(String(NAME_LENGTH))
    user_id: Mapped[str | None] = mapped_column(String(NAME_LENGTH))


class ProviderTombstone(Base):
    """A deleted provider, for readers that still have it, and to recognise late reports of it."""

    __tablename__ = "provider_tombstones"

    resource_provider_id: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, autoincrement=False
    )
    epoch: Mapped[int] = mapped_column(BigInteger, index=True)
    deleted_at: Mapped[dt.datetime] = mapped_column(DateTime, index=True)
    uuid: Mapped[str] = mapped_column(String(UUID_LENGTH), index=True)
    report_order: Mapped[int] = mapped_column(BigInteger)
    """That of its deletion, else of its last report."""
