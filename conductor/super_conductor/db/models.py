"""Tables of the API database: requests, their placement, and what can be requested."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from armillary.context import RequestContext
from armillary.db.idempotency import IdempotencyRecordMixin
from conductor.common import stored_contexts
from conductor.common.cell_db.models import UtcDateTime
from conductor.common.leases import LeaseMixin

NAME_LENGTH = 255
UUID_LENGTH = 36
WORD_LENGTH = 36
ZONE_NAME_LENGTH = 64
ZONE_PATH_LENGTH = 700
"""Maximum length of a path as text: at least ten zone names."""


class StoredContext(sa.TypeDecorator[RequestContext]):
    """A request's context without its token, as JSON."""

    impl = sa.JSON
    cache_ok = True

    def process_bind_param(self, value: RequestContext | None, dialect: sa.Dialect) -> Any:
        return None if value is None else stored_contexts.to_plain(value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> RequestContext | None:
        return None if value is None else stored_contexts.from_plain(value)


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
        RequestContext: StoredContext,
        dict[str, Any]: sa.JSON(none_as_null=True),
        dict[str, str]: sa.JSON(none_as_null=True),
        list[Any]: sa.JSON(none_as_null=True),
    }


class IdempotencyRecord(IdempotencyRecordMixin, Base):
    """A received request and its answer."""


# Cells and hosts ----------------------------------------------------------------------------------


class Cell(Base):
    """A cell and how to reach it; cell0 has no row."""

    __tablename__ = "cells"

    uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), unique=True)
    transport_url: Mapped[str] = mapped_column(sa.Text)
    disabled: Mapped[bool]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]


class HostMapping(Base):
    """The cell of a host, and its compute nodes at the last discovery."""

    __tablename__ = "host_mappings"

    host: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True)
    cell_uuid: Mapped[str] = mapped_column(
        sa.ForeignKey(Cell.uuid, name="fk_host_mappings_cell"), index=True
    )
    node_uuids: Mapped[list[Any]]


class MetadataSeq(Base):
    """One row: sequence number of the cluster metadata that schedulers cache.

    ``hosts_value`` is the number of the last change that took a host from its cell.
    """

    __tablename__ = "metadata_seq"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    value: Mapped[int] = mapped_column(sa.BigInteger)
    hosts_value: Mapped[int] = mapped_column(sa.BigInteger)


# What can be requested ----------------------------------------------------------------------------


class Flavor(Base):
    """A flavor; see ``objects.flavor``."""

    __tablename__ = "flavors"

    flavorid: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), unique=True)
    vcpus: Mapped[int]
    memory_mb: Mapped[int]
    root_gb: Mapped[int]
    ephemeral_gb: Mapped[int]
    swap_mb: Mapped[int]
    rxtx_factor: Mapped[float] = mapped_column(sa.Double)
    extra_specs: Mapped[dict[str, str]]
    is_public: Mapped[bool]
    disabled: Mapped[bool]
    description: Mapped[str | None] = mapped_column(sa.Text)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]


class FlavorAccess(Base):
    """A project that may use a private flavor."""

    __tablename__ = "flavor_access"

    flavorid: Mapped[str] = mapped_column(
        sa.ForeignKey(Flavor.flavorid, name="fk_flavor_access_flavor", ondelete="CASCADE"),
        primary_key=True,
    )
    project_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True)


class Image(Base):
    """An image; see ``objects.images.image_record``. Names need not be unique."""

    __tablename__ = "images"

    id: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), index=True)
    status: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    disk_format: Mapped[str | None] = mapped_column(sa.String(WORD_LENGTH))
    min_ram_mb: Mapped[int]
    min_disk_gb: Mapped[int]
    size_bytes: Mapped[int] = mapped_column(sa.BigInteger)
    properties: Mapped[dict[str, Any]]
    owner: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    """Project whose users see all of its properties, and may change it."""
    visibility: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    is_protected: Mapped[bool]
    is_hidden: Mapped[bool]
    container_format: Mapped[str | None] = mapped_column(sa.String(WORD_LENGTH))
    checksum: Mapped[str | None] = mapped_column(sa.String(WORD_LENGTH))
    sha512: Mapped[str | None] = mapped_column(sa.String(128))
    virtual_size_bytes: Mapped[int | None] = mapped_column(sa.BigInteger)
    tags: Mapped[list[Any]]
    members: Mapped[dict[str, str]]
    generation: Mapped[int]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]


class DeletedImage(Base):
    """The id of a deleted image, which no other gets: users may still name it."""

    __tablename__ = "deleted_images"

    id: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    deleted_at: Mapped[datetime]


class KeyPair(Base):
    """A user's public key; see ``objects.key_pair``."""

    __tablename__ = "key_pairs"

    user_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True)
    public_key: Mapped[str] = mapped_column(sa.Text)
    fingerprint: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    created_at: Mapped[datetime]
    kind: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))


class DeploymentSecret(Base):
    """A random secret that all processes of the deployment share."""

    __tablename__ = "deployment_secrets"

    name: Mapped[str] = mapped_column(sa.String(WORD_LENGTH), primary_key=True)
    value: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))


class Aggregate(Base):
    """A set of hosts with metadata."""

    __tablename__ = "aggregates"

    id: Mapped[int] = mapped_column(primary_key=True)
    uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), unique=True)
    name: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), unique=True)
    metadata_: Mapped[dict[str, str]] = mapped_column("metadata")
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]


class AggregateHost(Base):
    """A host in an aggregate."""

    __tablename__ = "aggregate_hosts"

    aggregate_id: Mapped[int] = mapped_column(
        sa.ForeignKey(Aggregate.id, ondelete="CASCADE", name="fk_aggregate_hosts_aggregate"),
        primary_key=True,
    )
    host: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True, index=True)


class ServerGroup(Base):
    """A group of instances with an affinity or anti-affinity policy."""

    __tablename__ = "server_groups"

    uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    project_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), index=True)
    user_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    policy: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    rules: Mapped[dict[str, str]]
    created_at: Mapped[datetime]


class ServerGroupMember(Base):
    """Membership of an instance in a group, from its acceptance until it is deleted."""

    __tablename__ = "server_group_members"

    group_uuid: Mapped[str] = mapped_column(
        sa.ForeignKey(ServerGroup.uuid, ondelete="CASCADE", name="fk_server_group_members_group"),
        primary_key=True,
    )
    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True, index=True)


class Project(Base):
    """A project that has made requests; its row lock serialises changes of its usage."""

    __tablename__ = "projects"

    project_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True)
    changes: Mapped[int] = mapped_column(sa.BigInteger)


class QuotaLimit(Base):
    """A limit of one project that overrides the configured default."""

    __tablename__ = "quota_limits"

    project_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True)
    resource: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True)
    limit: Mapped[int] = mapped_column("hard_limit")


# Requests and their placement ---------------------------------------------------------------------


class Reservation(LeaseMixin, Base):
    """An accepted request that is not completely in its cells yet; the unit of leased work.

    ``stage`` is a value of ``reservations.Stage``. ``fence`` increases each time a conductor takes
    it. ``failure`` is the last error, ``verdict`` the reason for giving up (message and details).
    """

    __tablename__ = "reservations"
    __table_args__ = (sa.Index("ix_reservations_lease_expires_at", "lease_expires_at"),)

    reservation_id: Mapped[str] = mapped_column(sa.String(WORD_LENGTH), primary_key=True)
    project_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    stage: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    fence: Mapped[int]
    context: Mapped[RequestContext]
    accepted_at: Mapped[datetime]
    failure: Mapped[str | None] = mapped_column(sa.Text)
    verdict: Mapped[dict[str, str] | None] = mapped_column(sa.JSON(none_as_null=True))


class BuildRequest(Base):
    """An instance that no cell has accepted yet.

    ``is_deleting``: deleted by its user; the conductor of the reservation cleans up.
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
    """The selections of a build request; once they are stored, their cell may know of it.

    A separate table because one statement can insert a thousand rows, but an update takes one for
    each row.
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
    """The request spec of an instance, kept until the instance is deleted."""

    __tablename__ = "request_specs"

    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    spec: Mapped[dict[str, Any]]


class InstanceMapping(Base):
    """Where an instance is, and what it counts against its project's quota until it is deleted.

    ``is_resizing``: it counts with the larger flavor until its cell or zone reports its flavor. The
    latest resize was requested at ``resize_asked_at``. ``zone_path`` is the path to the zone that
    has it, see ``zones.paths``. If the cell is cell0, that zone may have it and has not answered
    since.
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
    created_at: Mapped[datetime]
    queued_for_delete: Mapped[bool]
    deleted_at: Mapped[datetime | None]


class Cleanup(LeaseMixin, Base):
    """A pending cleanup of an instance that its user no longer sees, or that found no host.

    ``task`` is a value of ``cleanups.CleanupKind``. ``cell_uuid`` or ``zone_path`` is the target,
    and ``migration_uuid`` the move if the task is about a copy.
    """

    __tablename__ = "cleanups"
    __table_args__ = (sa.Index("ix_cleanups_lease_expires_at", "lease_expires_at"),)

    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    task: Mapped[str] = mapped_column(sa.String(WORD_LENGTH), primary_key=True)
    cell_uuid: Mapped[str | None] = mapped_column(sa.String(UUID_LENGTH))
    context: Mapped[RequestContext]
    migration_uuid: Mapped[str | None] = mapped_column(sa.String(UUID_LENGTH))
    zone_path: Mapped[str | None] = mapped_column(sa.String(ZONE_PATH_LENGTH))


class CellChange(Base):
    """A move that leads or may lead to another cell, until it is confirmed or reverted.

    ``target_cell_uuid`` is null until the source cell reports the destination.
    """

    __tablename__ = "cell_changes"
    __table_args__ = (sa.Index("ix_cell_changes_instance_uuid", "instance_uuid"),)

    migration_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH))
    source_cell_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH))
    target_cell_uuid: Mapped[str | None] = mapped_column(sa.String(UUID_LENGTH))
    created_at: Mapped[datetime]


class Move(LeaseMixin, Base):
    """An accepted move that needs a host; deleted when its cell has the selections.

    ``arguments`` are those of the operation. ``takes`` counts the leases taken. ``hosts`` are those
    that were selected last, the alternates included.
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
    context: Mapped[RequestContext]
    takes: Mapped[int]
    accepted_at: Mapped[datetime]
    hosts: Mapped[list[Any] | None]


class DeferredOperation(LeaseMixin, Base):
    """An accepted operation on an instance whose cell or zone is silent; deleted when it is done.

    ``arguments`` are those of ``operate_server`` in wire form. ``tries`` counts those that failed.
    """

    __tablename__ = "deferred_operations"
    __table_args__ = (sa.Index("ix_deferred_operations_lease_expires_at", "lease_expires_at"),)

    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    operation: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    arguments: Mapped[dict[str, Any]]
    context: Mapped[RequestContext]
    tries: Mapped[int]
    accepted_at: Mapped[datetime]


class Claim(LeaseMixin, Base):
    """A claim on a pool; deleted when it has ended.

    ``asked`` are the fields of ``NewClaim`` without columns of their own. ``takes`` counts the
    leases taken. The lease expires when there is something to do: at once, at the end, or never.
    """

    __tablename__ = "claims"
    __table_args__ = (
        sa.Index("ix_claims_project_id", "project_id", "created_at"),
        sa.Index("ix_claims_server_uuid", "server_uuid"),
        sa.Index("ix_claims_lease_expires_at", "lease_expires_at"),
    )

    uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    project_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    user_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    kind: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    asked: Mapped[dict[str, Any]]
    server_uuid: Mapped[str | None] = mapped_column(sa.String(UUID_LENGTH))
    ends_at: Mapped[datetime | None]
    state: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    pool_uuid: Mapped[str | None] = mapped_column(sa.String(UUID_LENGTH))
    pool_name: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    zone: Mapped[str | None] = mapped_column(sa.String(ZONE_PATH_LENGTH))
    alternates: Mapped[list[Any]]
    fault: Mapped[str | None] = mapped_column(sa.Text)
    trace: Mapped[dict[str, Any] | None]
    context: Mapped[RequestContext]
    takes: Mapped[int]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]


class DecisionTrace(Base):
    """Shared part of the decision trace of a reservation's instances."""

    __tablename__ = "decision_traces"

    reservation_id: Mapped[str] = mapped_column(sa.String(WORD_LENGTH), primary_key=True)
    trace: Mapped[dict[str, Any]]
    stored_at: Mapped[datetime] = mapped_column(index=True)


class MoveTrace(Base):
    """Decision trace of a move, whether a host was found or not.

    ``request_id``, ``host`` and ``sentence`` summarise the decision, for lists.
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
    """The part of a decision trace about one instance."""

    __tablename__ = "instance_choices"

    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    reservation_id: Mapped[str] = mapped_column(sa.String(WORD_LENGTH), index=True)
    choice: Mapped[dict[str, Any]]


# Zones --------------------------------------------------------------------------------------------


class Zone(Base):
    """A child zone and how to reach it."""

    __tablename__ = "zones"

    uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(ZONE_NAME_LENGTH), unique=True)
    transport_url: Mapped[str] = mapped_column(sa.Text)
    disabled: Mapped[bool]
    weight_offset: Mapped[float]
    weight_scale: Mapped[float]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]


class ZoneEntries(Base):
    """Hosts that zones offered for a reservation, and the zones that have not answered.

    ``entries`` has a list for each search that found hosts, best first: {"host_id", "path"} each.
    ``silent`` has paths of zones.
    """

    __tablename__ = "zone_entries"

    reservation_id: Mapped[str] = mapped_column(
        sa.ForeignKey(
            Reservation.reservation_id, ondelete="CASCADE", name="fk_zone_entries_reservation"
        ),
        primary_key=True,
    )
    entries: Mapped[list[Any]]
    silent: Mapped[list[Any]]


class ZoneWalk(Base):
    """Progress of an instance through its reservation's entries, under the reservation's lease.

    It began at ``start`` and has tried ``step`` entries. ``state`` is a value of
    ``zone_walks.WalkState`` for the current attempt, which is at the zone of ``path`` on the host
    ``host_id``. ``heard_at`` is when that zone last reported on it.
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


class ZoneAttempt(Base):
    """Another zone's attempt to build an instance here, since it arrived or was refused.

    ``local_uuid`` is the instance's UUID here: the same as at its origin, unless an earlier attempt
    uses that. Null if it was cancelled before it arrived. ``parent`` is the parent zone that sent
    it: see ``conductor.super_conductor.zones.parents``. ``image_ticket`` is the ticket by which
    hosts read the data of its image from the origin, null without one.
    """

    __tablename__ = "zone_guests"
    __table_args__ = (sa.Index("ix_zone_guests_created_at", "created_at"),)

    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    parent: Mapped[str] = mapped_column(sa.String(ZONE_PATH_LENGTH), primary_key=True)
    local_uuid: Mapped[str | None] = mapped_column(sa.String(UUID_LENGTH), unique=True)
    origin: Mapped[str] = mapped_column(sa.String(ZONE_NAME_LENGTH))
    is_cancelled: Mapped[bool]
    created_at: Mapped[datetime]
    image_ticket: Mapped[dict[str, Any] | None]
