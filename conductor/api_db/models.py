"""The tables of the API database: what users ask for, where it went, and what they may ask for."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from conductor.cell_db.models import UtcDateTime
from conductor.leases import LeaseMixin

NAME_LENGTH = 255
UUID_LENGTH = 36
WORD_LENGTH = 36
ZONE_NAME_LENGTH = 64
ZONE_PATH_LENGTH = 700
"""Of a path as text: the names of ten zones and more."""


class Base(DeclarativeBase):
    """Registry of the tables of the API database."""

    metadata = sa.MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy declares it so
        datetime: UtcDateTime,
        dict[str, Any]: sa.JSON(none_as_null=True),
        list[Any]: sa.JSON(none_as_null=True),
    }


# Cells and hosts ----------------------------------------------------------------------------------


class Cell(Base):
    """How a cell is reached; cell0 has no row."""

    __tablename__ = "cells"

    uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), unique=True)
    transport_url: Mapped[str] = mapped_column(sa.Text)
    disabled: Mapped[bool]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]


class HostMapping(Base):
    """Which cell a host is in, and the compute nodes that discovery last saw there."""

    __tablename__ = "host_mappings"

    host: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True)
    cell_uuid: Mapped[str] = mapped_column(
        sa.ForeignKey(Cell.uuid, name="fk_host_mappings_cell"), index=True
    )
    node_uuids: Mapped[list[Any]]


class FactsSeq(Base):
    """One row: a number that grows with every change of what schedulers know by heart."""

    __tablename__ = "facts_seq"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    value: Mapped[int] = mapped_column(sa.BigInteger)


# What can be asked for ----------------------------------------------------------------------------


class Flavor(Base):
    """A size, as ``objects.flavor`` has it."""

    __tablename__ = "flavors"

    flavorid: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), unique=True)
    vcpus: Mapped[int]
    memory_mb: Mapped[int]
    root_gb: Mapped[int]
    ephemeral_gb: Mapped[int]
    swap_mb: Mapped[int]
    extra_specs: Mapped[dict[str, Any]]
    is_public: Mapped[bool]
    disabled: Mapped[bool]
    description: Mapped[str | None] = mapped_column(sa.Text)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]


class Image(Base):
    """A program or disk, as ``objects.image_meta`` has it. Several may have one name."""

    __tablename__ = "images"

    id: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), index=True)
    status: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    disk_format: Mapped[str | None] = mapped_column(sa.String(WORD_LENGTH))
    min_ram_mb: Mapped[int]
    min_disk_gb: Mapped[int]
    size_bytes: Mapped[int] = mapped_column(sa.BigInteger)
    properties: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]


class Aggregate(Base):
    """A set of hosts with metadata."""

    __tablename__ = "aggregates"

    id: Mapped[int] = mapped_column(primary_key=True)
    uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), unique=True)
    name: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), unique=True)
    metadata_: Mapped[dict[str, Any]] = mapped_column("metadata")
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]


class AggregateHost(Base):
    """A host of an aggregate."""

    __tablename__ = "aggregate_hosts"

    aggregate_id: Mapped[int] = mapped_column(
        sa.ForeignKey(Aggregate.id, ondelete="CASCADE", name="fk_aggregate_hosts_aggregate"),
        primary_key=True,
    )
    host: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True, index=True)


class ServerGroup(Base):
    """A group of instances that want to be together or apart."""

    __tablename__ = "server_groups"

    uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    project_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), index=True)
    user_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    policy: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    rules: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class ServerGroupMember(Base):
    """An instance of a group, from its acceptance until it is deleted."""

    __tablename__ = "server_group_members"

    group_uuid: Mapped[str] = mapped_column(
        sa.ForeignKey(ServerGroup.uuid, ondelete="CASCADE", name="fk_server_group_members_group"),
        primary_key=True,
    )
    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True, index=True)


class Project(Base):
    """A row for each project that ever asked: who changes what it uses holds this row's lock."""

    __tablename__ = "projects"

    project_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True)
    changes: Mapped[int] = mapped_column(sa.BigInteger)


class QuotaLimit(Base):
    """A limit of one project that overrides the configured one."""

    __tablename__ = "quota_limits"

    project_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True)
    resource: Mapped[str] = mapped_column(sa.String(WORD_LENGTH), primary_key=True)
    limit: Mapped[int] = mapped_column("hard_limit")


# Requests and where they went ---------------------------------------------------------------------


class Reservation(LeaseMixin, Base):
    """An accepted request that is not wholly in its cells yet; what is leased and worked on.

    ``stage`` is a word of ``conductor.api_db.reservations.Stage``. ``fence`` rises with every
    take-over. ``context`` is that of the request. ``failure`` is what the last try ran into,
    ``verdict`` why it was given up (message and details).
    """

    __tablename__ = "reservations"
    __table_args__ = (sa.Index("ix_reservations_lease_expires_at", "lease_expires_at"),)

    reservation_id: Mapped[str] = mapped_column(sa.String(WORD_LENGTH), primary_key=True)
    project_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    stage: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    fence: Mapped[int]
    context: Mapped[dict[str, Any]]
    accepted_at: Mapped[datetime]
    failure: Mapped[str | None] = mapped_column(sa.Text)
    verdict: Mapped[dict[str, Any] | None] = mapped_column(sa.JSON(none_as_null=True))


class BuildRequest(Base):
    """An instance that no cell has taken over yet.

    ``is_deleting``: gone for its user; who works on the reservation cleans up.
    """

    __tablename__ = "build_requests"
    __table_args__ = (sa.Index("ix_build_requests_created_at", "created_at", "instance_uuid"),)

    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    reservation_id: Mapped[str] = mapped_column(
        sa.ForeignKey(Reservation.reservation_id, name="fk_build_requests_reservation"), index=True
    )
    project_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    name: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    launch_index: Mapped[int]
    instance: Mapped[dict[str, Any]]
    is_deleting: Mapped[bool]
    created_at: Mapped[datetime]


class BuildSelection(Base):
    """The hosts chosen for a build request; once they are stored, their cell may know of it.

    A table of its own, because a thousand rows are inserted in one statement and updated in a
    thousand.
    """

    __tablename__ = "build_selections"

    instance_uuid: Mapped[str] = mapped_column(
        sa.ForeignKey(
            BuildRequest.instance_uuid, ondelete="CASCADE", name="fk_build_selections_request"
        ),
        primary_key=True,
    )
    cell_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), index=True)
    fence: Mapped[int]
    selections: Mapped[list[Any]]


class RequestSpec(Base):
    """What was asked for, for each instance, for as long as it lives."""

    __tablename__ = "request_specs"

    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    spec: Mapped[dict[str, Any]]


class InstanceMapping(Base):
    """Where an instance is, and what it counts against its project's quota until it is deleted.

    ``is_resizing``: it counts with the larger flavor, until its cell says which one it has, or its
    zone, which was asked to resize it at ``resize_asked_at``.
    ``zone_path`` is the way to the zone that has it, see ``conductor.zones.paths``; with cell0 as
    its cell it is the zone that may have it, and has not answered since.
    """

    __tablename__ = "instance_mappings"
    __table_args__ = (
        sa.Index("ix_instance_mappings_project_id", "project_id", "queued_for_delete"),
        sa.Index("ix_instance_mappings_deleted_at", "deleted_at"),
    )

    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    cell_uuid: Mapped[str | None] = mapped_column(sa.String(UUID_LENGTH), index=True)
    reservation_id: Mapped[str] = mapped_column(sa.String(WORD_LENGTH), index=True)
    project_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    user_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    vcpus: Mapped[int]
    memory_mb: Mapped[int]
    is_resizing: Mapped[bool] = mapped_column(default=False)
    resize_asked_at: Mapped[datetime | None]
    zone_path: Mapped[str | None] = mapped_column(sa.String(ZONE_PATH_LENGTH), index=True)
    queued_for_delete: Mapped[bool]
    deleted_at: Mapped[datetime | None]


class Cleanup(LeaseMixin, Base):
    """What is still to be done for an instance that is gone for its user, or found no host.

    ``task`` is a word of ``conductor.api_db.cleanups.CleanupTask``; ``cell_uuid`` or ``zone_path``
    is where, and ``migration_uuid`` of which move, if it is about a copy.
    """

    __tablename__ = "cleanups"
    __table_args__ = (sa.Index("ix_cleanups_lease_expires_at", "lease_expires_at"),)

    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    task: Mapped[str] = mapped_column(sa.String(WORD_LENGTH), primary_key=True)
    cell_uuid: Mapped[str | None] = mapped_column(sa.String(UUID_LENGTH))
    context: Mapped[dict[str, Any]]
    migration_uuid: Mapped[str | None] = mapped_column(sa.String(UUID_LENGTH))
    zone_path: Mapped[str | None] = mapped_column(sa.String(ZONE_PATH_LENGTH))


class CellChange(Base):
    """A move that may lead, or leads, to another cell, until it is confirmed or reverted.

    ``target_cell_uuid`` is null until the cell where it began says where it goes.
    """

    __tablename__ = "cell_changes"
    __table_args__ = (sa.Index("ix_cell_changes_instance_uuid", "instance_uuid"),)

    migration_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH))
    source_cell_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH))
    target_cell_uuid: Mapped[str | None] = mapped_column(sa.String(UUID_LENGTH))
    created_at: Mapped[datetime]


class Move(LeaseMixin, Base):
    """A move that was accepted and for which hosts are to be found; gone when its cell has them.

    ``arguments`` is what ``conductor.tasks.move`` was asked, ``takes`` counts who worked on it.
    """

    __tablename__ = "moves"
    __table_args__ = (
        sa.UniqueConstraint("instance_uuid", name="uq_moves_instance_uuid"),
        sa.Index("ix_moves_lease_expires_at", "lease_expires_at"),
    )

    migration_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH))
    cell_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH))
    operation: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    arguments: Mapped[dict[str, Any]]
    context: Mapped[dict[str, Any]]
    takes: Mapped[int]
    accepted_at: Mapped[datetime]


class DecisionTrace(Base):
    """Why a reservation's instances went where they are: the part that all of them share."""

    __tablename__ = "decision_traces"

    reservation_id: Mapped[str] = mapped_column(sa.String(WORD_LENGTH), primary_key=True)
    trace: Mapped[dict[str, Any]]
    stored_at: Mapped[datetime | None] = mapped_column(index=True)


class MoveTrace(Base):
    """Why a move took its instance where it is, or nowhere.

    ``request_id``, ``host`` and ``sentence`` are of the decision as a whole, for lists of them.
    """

    __tablename__ = "move_traces"
    __table_args__ = (
        sa.Index("ix_move_traces_instance_uuid", "instance_uuid", "stored_at"),
        sa.Index("ix_move_traces_stored_at", "stored_at"),
    )

    migration_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH))
    operation: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    request_id: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    host: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    sentence: Mapped[str | None] = mapped_column(sa.Text)
    trace: Mapped[dict[str, Any]]
    stored_at: Mapped[datetime]


class InstanceChoice(Base):
    """The part of a trace that is about one instance."""

    __tablename__ = "instance_choices"

    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    reservation_id: Mapped[str] = mapped_column(sa.String(WORD_LENGTH), index=True)
    choice: Mapped[dict[str, Any]]


# Zones --------------------------------------------------------------------------------------------


class Zone(Base):
    """How a zone below this one is reached."""

    __tablename__ = "zones"

    uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(ZONE_NAME_LENGTH), unique=True)
    transport_url: Mapped[str] = mapped_column(sa.Text)
    disabled: Mapped[bool]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]


class ZoneEntries(Base):
    """The hosts that the zones offered to a reservation, best first: {"host_id", "path"} each."""

    __tablename__ = "zone_entries"

    reservation_id: Mapped[str] = mapped_column(
        sa.ForeignKey(
            Reservation.reservation_id, ondelete="CASCADE", name="fk_zone_entries_reservation"
        ),
        primary_key=True,
    )
    entries: Mapped[list[Any]]


class ZoneWalk(Base):
    """An instance on its way along its reservation's entries; who works on that walks on.

    It begins at ``start``, and has put ``step`` entries behind it. ``state`` is a word of
    ``conductor.api_db.zone_walks.WalkState``, of the attempt with this number, at the zone of
    ``path`` on the host ``host_id``. ``heard_at`` is when that zone last said something of it.
    """

    __tablename__ = "zone_walks"

    instance_uuid: Mapped[str] = mapped_column(
        sa.ForeignKey(BuildRequest.instance_uuid, ondelete="CASCADE", name="fk_zone_walks_request"),
        primary_key=True,
    )
    reservation_id: Mapped[str] = mapped_column(sa.String(WORD_LENGTH), index=True)
    start: Mapped[int]
    step: Mapped[int]
    attempt: Mapped[int]
    state: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    path: Mapped[str | None] = mapped_column(sa.String(ZONE_PATH_LENGTH))
    host_id: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    since: Mapped[datetime]
    heard_at: Mapped[datetime]
    failures: Mapped[list[Any]]


class ZoneGuest(Base):
    """An attempt of another zone to have an instance built here, from its coming or its refusal on.

    ``local_uuid`` is what the instance is called here: as at its origin, unless that name was taken
    by an attempt before it. Null for one that was cancelled before it came.
    """

    __tablename__ = "zone_guests"
    __table_args__ = (sa.Index("ix_zone_guests_created_at", "created_at"),)

    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    local_uuid: Mapped[str | None] = mapped_column(sa.String(UUID_LENGTH), unique=True)
    origin: Mapped[str] = mapped_column(sa.String(ZONE_NAME_LENGTH))
    is_cancelled: Mapped[bool]
    created_at: Mapped[datetime]
