"""The tables of the placement database, all of them.

Names of classes, traits and aggregates are numbers inside, since a fleet repeats them by the
million. A number is never used again for something else (SQLite needs to be told), because readers
remember providers by theirs.
"""

from __future__ import annotations

import datetime as dt

from sqlalchemy import (
    BigInteger,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

UUID_LENGTH = 36
NAME_LENGTH = 255
PROVIDER_NAME_LENGTH = 200

# SQLite counts up by itself in columns of type INTEGER only; these hold 64 bits there.
_Id = BigInteger().with_variant(Integer(), "sqlite")
_NEVER_AGAIN = {"sqlite_autoincrement": True}
_LONG_AGO = text("'1970-01-01 00:00:00'")  # rows of older releases have no other time


class Base(DeclarativeBase):
    """Base of all models."""

    @classmethod
    def table(cls) -> Table:
        """Return the table, for statements about many rows at once."""
        assert isinstance(cls.__table__, Table)
        return cls.__table__


class PlacementEpoch(Base):
    """The one row that gives all writes their order: who writes, locks it first.

    ``epoch`` numbers the last write, ``facts_epoch`` the last one that changed more than usage.
    What was deleted up to ``forgotten_epoch`` has no tombstone any more.
    """

    __tablename__ = "placement_epoch"

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    epoch: Mapped[int] = mapped_column(BigInteger)
    facts_epoch: Mapped[int] = mapped_column(BigInteger)
    forgotten_epoch: Mapped[int] = mapped_column(BigInteger)


class ResourceClass(Base):
    """A kind of resource that was made, or used once."""

    __tablename__ = "resource_classes"
    __table_args__ = _NEVER_AGAIN

    id: Mapped[int] = mapped_column(_Id, primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME_LENGTH), unique=True)
    updated_at: Mapped[dt.datetime] = mapped_column(DateTime, server_default=_LONG_AGO)


class Trait(Base):
    """A quality that was made, or that some provider had once."""

    __tablename__ = "traits"
    __table_args__ = _NEVER_AGAIN

    id: Mapped[int] = mapped_column(_Id, primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME_LENGTH), unique=True)
    updated_at: Mapped[dt.datetime] = mapped_column(DateTime, server_default=_LONG_AGO)


class Aggregate(Base):
    """A set of providers, known by its UUID."""

    __tablename__ = "aggregates"
    __table_args__ = _NEVER_AGAIN

    id: Mapped[int] = mapped_column(_Id, primary_key=True)
    uuid: Mapped[str] = mapped_column(String(UUID_LENGTH), unique=True)


class ResourceProvider(Base):
    """Something that has resources. A plain one is the root of a tree of its own.

    Its root is no foreign key: MySQL would not let go a row that refers to itself.
    ``epoch`` is that of the last write to anything about it but its usage, ``updated_at`` the time
    of its generation.
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


class Inventory(Base):
    """How much a provider has of a class."""

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


class Usage(Base):
    """The sum of a provider's allocations of a class, kept by whoever writes those; no row: none.

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
    """Who holds allocations; there is none without any."""

    __tablename__ = "consumers"
    __table_args__ = (Index("ix_consumers_project_id_user_id", "project_id", "user_id"),)

    uuid: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    generation: Mapped[int] = mapped_column(BigInteger)
    consumer_type: Mapped[str] = mapped_column(String(NAME_LENGTH))
    project_id: Mapped[str] = mapped_column(String(NAME_LENGTH))
    user_id: Mapped[str] = mapped_column(String(NAME_LENGTH))
    updated_at: Mapped[dt.datetime] = mapped_column(DateTime, server_default=_LONG_AGO)


class Allocation(Base):
    """An amount that a consumer took from a provider."""

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
    """That a provider has a trait."""

    __tablename__ = "resource_provider_traits"

    resource_provider_id: Mapped[int] = mapped_column(
        ForeignKey("resource_providers.id"), primary_key=True
    )
    trait_id: Mapped[int] = mapped_column(ForeignKey("traits.id"), primary_key=True, index=True)


class ResourceProviderAggregate(Base):
    """That a provider is in an aggregate."""

    __tablename__ = "resource_provider_aggregates"

    resource_provider_id: Mapped[int] = mapped_column(
        ForeignKey("resource_providers.id"), primary_key=True
    )
    aggregate_id: Mapped[int] = mapped_column(
        ForeignKey("aggregates.id"), primary_key=True, index=True
    )


class ConsumerFence(Base):
    """The highest fence seen for a consumer, whether it still holds something or not."""

    __tablename__ = "consumer_fences"

    consumer_uuid: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    fence: Mapped[int] = mapped_column(BigInteger)
    updated_at: Mapped[dt.datetime] = mapped_column(DateTime, index=True)


class ProviderTombstone(Base):
    """A provider that was deleted, for readers that still know it."""

    __tablename__ = "provider_tombstones"

    resource_provider_id: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, autoincrement=False
    )
    epoch: Mapped[int] = mapped_column(BigInteger, index=True)
    deleted_at: Mapped[dt.datetime] = mapped_column(DateTime, index=True)
