"""Tables of requests, of their placement, and of the traces of decisions."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from armillary.context import RequestContext
from conductor.common.leases import LeaseMixin
from conductor.super_conductor.db.models.base import (
    NAME_LENGTH,
    UUID_LENGTH,
    WORD_LENGTH,
    ZONE_PATH_LENGTH,
    Base,
)
from objects.base import Primitive
from objects.traces.decision_trace import Plain, PlainTrace


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
    instance: Mapped[Primitive]
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
    spec: Mapped[Primitive]


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
    leases taken. The lease expires when there is something to do: immediately, at the end, or
    never.
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
    trace: Mapped[PlainTrace | None]
    context: Mapped[RequestContext]
    takes: Mapped[int]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]


class DecisionTrace(Base):
    """Shared part of the decision trace of a reservation's instances."""

    __tablename__ = "decision_traces"

    reservation_id: Mapped[str] = mapped_column(sa.String(WORD_LENGTH), primary_key=True)
    trace: Mapped[PlainTrace]
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
    trace: Mapped[PlainTrace]
    stored_at: Mapped[datetime]


class InstanceChoice(Base):
    """The part of a decision trace about one instance."""

    __tablename__ = "instance_choices"

    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    reservation_id: Mapped[str] = mapped_column(sa.String(WORD_LENGTH), index=True)
    choice: Mapped[Plain]
