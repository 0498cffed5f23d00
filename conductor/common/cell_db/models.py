"""Tables of a cell: services, compute nodes, instances, and tasks on instances."""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from armillary.db.idempotency import IdempotencyRecordMixin
from conductor.common.cell_db.stored_object import StoredColumn, StoredObject
from conductor.common.leases import LeaseMixin
from objects.flavor import Flavor
from objects.images.image_meta import ImageMeta
from objects.instances.server_settings import ServerSettings
from objects.request_spec import RequestSpec

NAME_LENGTH = 255
UUID_LENGTH = 36
WORD_LENGTH = 36

_Number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # autoincrement needs INTEGER


class UtcDateTime(sa.TypeDecorator[datetime]):
    """An aware datetime in Python, stored as naive UTC with microseconds."""

    impl = sa.DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        if dialect.name == "mysql":
            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(sa.DateTime())

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


class Base(DeclarativeBase):
    """Registry of a cell's tables."""

    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy declares it so
        datetime: UtcDateTime,
        dict[str, Any]: sa.JSON(none_as_null=True),
        dict[str, str]: sa.JSON(none_as_null=True),
        dict[str, float]: sa.JSON(none_as_null=True),
        dict[str, str | list[str] | bool | None]: sa.JSON(none_as_null=True),
        dict[str, list[str]]: sa.JSON(none_as_null=True),
        dict[str, dict[str, float]]: sa.JSON(none_as_null=True),
        list[Any]: sa.JSON(none_as_null=True),
        StoredObject[Flavor]: StoredColumn,
        StoredObject[ImageMeta]: StoredColumn,
        StoredObject[RequestSpec]: StoredColumn,
        StoredObject[ServerSettings]: StoredColumn,
    }


class IdempotencyRecord(IdempotencyRecordMixin, Base):
    """A received request and its answer."""


class Service(Base):
    """A process on a host. ``is_up`` is the state that schedulers were last sent."""

    __tablename__ = "services"
    __table_args__ = (sa.UniqueConstraint("host", "binary", name="uq_services_host"),)

    uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    host: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    binary: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    agent: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH), index=True)
    version: Mapped[int]
    disabled: Mapped[bool]
    disabled_reason: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    forced_down: Mapped[bool]
    report_count: Mapped[int] = mapped_column(sa.BigInteger)
    last_seen_up: Mapped[datetime | None]
    created_at: Mapped[datetime]
    is_up: Mapped[bool]
    is_released: Mapped[bool] = mapped_column(default=False)
    """Another agent may have the host though this one did not give it up."""
    run: Mapped[str | None] = mapped_column(sa.String(UUID_LENGTH))
    """The run of the agent that is at work; None: any may begin."""
    agent_seen_at: Mapped[datetime | None]
    """Last message of the run at work; no heartbeat counts while its hosts are unsettled."""
    forced_down_at: Mapped[datetime | None]
    fenced_at: Mapped[datetime | None]
    """When ``[cell] fencing_command`` last succeeded for the host."""
    fencing_until: Mapped[datetime | None]
    """A conductor runs the command now, and until then at most."""


class HostEvent(Base):
    """A change of a host's compute service; who asked for it, if anybody did."""

    __tablename__ = "host_events"
    __table_args__ = (sa.Index("ix_host_events_host", "host", "created_at"),)

    id: Mapped[int] = mapped_column(_Number, primary_key=True)
    host: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    event: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    reason: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    request_id: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    project_id: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    user_id: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


class ServiceFigures(Base):
    """What a worker process of a service reported with its last heartbeat."""

    __tablename__ = "service_figures"

    host: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True)
    binary: Mapped[str] = mapped_column(sa.String(WORD_LENGTH), primary_key=True)
    worker: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    figures: Mapped[dict[str, float]] = mapped_column(sa.JSON)
    reported_at: Mapped[datetime]


class HostRequest(Base):
    """A host that an agent asked for, or that an operator approved for it in advance."""

    __tablename__ = "host_requests"

    host: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True)
    agent: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True)
    is_approved: Mapped[bool]
    requested_at: Mapped[datetime]


class ComputeNode(Base):
    """A hypervisor. ``seq`` is the number of its host state's latest change in the cell.

    ``provider_digest`` identifies what placement should have of it, ``confirmed_digest`` what
    placement last confirmed, at ``confirmed_at``, with these ``allocation_ratios``.
    ``sent_traits`` maps the node and each of its child providers to the traits that this cell may
    have set there.
    """

    __tablename__ = "compute_nodes"
    __table_args__ = (sa.UniqueConstraint("host", "node", name="uq_compute_nodes_host"),)

    uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    host: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    node: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    attributes: Mapped[dict[str, Any]]
    inventories: Mapped[dict[str, dict[str, float]]]
    traits: Mapped[list[Any]]
    child_providers: Mapped[list[Any] | None] = mapped_column(sa.JSON(none_as_null=True))
    sent_traits: Mapped[dict[str, list[str]]]
    seq: Mapped[int] = mapped_column(sa.BigInteger, index=True)
    provider_digest: Mapped[str] = mapped_column(sa.String(64))
    confirmed_digest: Mapped[str | None] = mapped_column(sa.String(64))
    confirmed_at: Mapped[datetime | None]
    allocation_ratios: Mapped[dict[str, float]]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]


class HostStateSeq(Base):
    """One row: the latest number given to a change of host states.

    ``node_removals`` is complete after number ``removals_from``; a reader that is further behind
    needs all rows.
    """

    __tablename__ = "host_state_seq"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    value: Mapped[int] = mapped_column(sa.BigInteger)
    removals_from: Mapped[int] = mapped_column(sa.BigInteger)


class NodeRemoval(Base):
    """A removed compute node, for schedulers that have not learned of it yet."""

    __tablename__ = "node_removals"

    node_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    seq: Mapped[int] = mapped_column(sa.BigInteger, index=True)
    removed_at: Mapped[datetime]


class Instance(Base):
    """An instance; ``deleted_at`` is null while it exists. ``created_at`` is in whole seconds.

    ``migration_payload`` is the data kept of a guest that is on no host. ``operations_total`` and
    ``commands_total`` number its operations and the commands to agents. ``hidden``: it is a copy of
    an instance in another cell; deleted and hidden: a tombstone of one that moved there.
    """

    __tablename__ = "instances"
    __table_args__ = (
        sa.Index("ix_instances_created_at", "created_at", "uuid"),
        sa.Index("ix_instances_project_id", "project_id", "created_at", "uuid"),
    )

    uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    project_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    user_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    reservation_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), index=True)
    request_id: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    launch_index: Mapped[int]
    flavor: Mapped[StoredObject[Flavor]]
    image: Mapped[StoredObject[ImageMeta] | None]
    metadata_: Mapped[dict[str, str]] = mapped_column("metadata")
    settings: Mapped[StoredObject[ServerSettings] | None]
    availability_zone: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    host: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH), index=True)
    node: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    vm_state: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    task_state: Mapped[str | None] = mapped_column(sa.String(WORD_LENGTH))
    power_state: Mapped[str | None] = mapped_column(sa.String(WORD_LENGTH))
    addresses: Mapped[list[str] | None] = mapped_column(sa.JSON(none_as_null=True))
    attempt: Mapped[int]
    exit_code: Mapped[int | None]
    locked: Mapped[bool] = mapped_column(default=False)
    locked_reason: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    locked_by: Mapped[str | None] = mapped_column(sa.String(WORD_LENGTH))
    migration_payload: Mapped[dict[str, Any] | None] = mapped_column(sa.JSON(none_as_null=True))
    operations_total: Mapped[int] = mapped_column(default=0)
    commands_total: Mapped[int] = mapped_column(default=0)
    group_uuid: Mapped[str | None] = mapped_column(sa.String(UUID_LENGTH), index=True)
    hidden: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]
    launched_at: Mapped[datetime | None]
    deleted_at: Mapped[datetime | None] = mapped_column(UtcDateTime, index=True)


class InstanceBuild(LeaseMixin, Base):
    """An unfinished build: the request, its stage, and its lease.

    ``position`` is the index of the current attempt's host in ``selections``. ``tries`` counts
    consecutive failures of the current step. ``attempt`` equals the instance's while the row
    exists.
    """

    __tablename__ = "instance_builds"
    __table_args__ = (sa.Index("ix_instance_builds_lease_expires_at", "lease_expires_at"),)

    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    stage: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    attempt: Mapped[int]
    position: Mapped[int]
    fence: Mapped[int]
    selections: Mapped[list[Any]]
    request_spec: Mapped[StoredObject[RequestSpec]]
    tries: Mapped[int]
    created_at: Mapped[datetime]


class InstanceDelete(LeaseMixin, Base):
    """An unfinished delete. ``is_guest_gone``: only records and allocations are left.

    ``other_hosts`` knew of the instance through an operation that the delete ended.
    """

    __tablename__ = "instance_deletes"
    __table_args__ = (sa.Index("ix_instance_deletes_lease_expires_at", "lease_expires_at"),)

    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    is_guest_gone: Mapped[bool]
    other_hosts: Mapped[list[str] | None] = mapped_column(sa.JSON(none_as_null=True))
    request_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    tries: Mapped[int]
    created_at: Mapped[datetime]


class InstanceOperation(LeaseMixin, Base):
    """An unfinished operation on a built instance, with its stage.

    ``sequence`` is the number of the command that an agent has to answer. ``flow_state`` is its
    state: see ``conductor.common.cell_db.flow_states``. No cell conductor works on it while the
    super conductor has the stage.
    """

    __tablename__ = "instance_operations"
    __table_args__ = (sa.Index("ix_instance_operations_lease_expires_at", "lease_expires_at"),)

    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    operation: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    stage: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    sequence: Mapped[int]
    number: Mapped[int]
    migration_uuid: Mapped[str | None] = mapped_column(sa.String(UUID_LENGTH))
    flow_state: Mapped[dict[str, Any]]
    context: Mapped[dict[str, str | list[str] | bool | None]]
    tries: Mapped[int]
    created_at: Mapped[datetime]


class Migration(Base):
    """A move or resize, unfinished or ended. ``flow_state`` is what its end needs."""

    __tablename__ = "migrations"
    __table_args__ = (
        sa.Index("ix_migrations_instance_uuid", "instance_uuid", "created_at"),
        sa.Index("ix_migrations_source_host", "source_host", "status"),
        sa.Index("ix_migrations_dest_host", "dest_host", "status"),
        sa.Index("ix_migrations_created_at", "created_at", "uuid"),
    )

    uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH))
    migration_type: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    status: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    source_host: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    source_node: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    dest_host: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    dest_node: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    old_flavor: Mapped[StoredObject[Flavor] | None]
    new_flavor: Mapped[StoredObject[Flavor] | None]
    memory_total_mb: Mapped[int | None]
    memory_remaining_mb: Mapped[int | None]
    flow_state: Mapped[dict[str, Any]]
    request_id: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    project_id: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    user_id: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]


class InstanceFault(Base):
    """Reason why an attempt failed; attempt 0 is the whole request, -n its n-th operation."""

    __tablename__ = "instance_faults"
    __table_args__ = (
        sa.UniqueConstraint("instance_uuid", "attempt", name="uq_instance_faults_attempt"),
    )

    id: Mapped[int] = mapped_column(_Number, primary_key=True)
    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH))
    attempt: Mapped[int]
    host: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    code: Mapped[int]
    message: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    details: Mapped[str | None] = mapped_column(sa.Text)
    created_at: Mapped[datetime]


class InstanceAction(Base):
    """An action requested of an instance, one for each action of a request."""

    __tablename__ = "instance_actions"
    __table_args__ = (
        sa.UniqueConstraint(
            "instance_uuid", "action", "request_id", name="uq_instance_actions_instance_uuid"
        ),
    )

    id: Mapped[int] = mapped_column(_Number, primary_key=True)
    uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), unique=True)
    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH))
    action: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    request_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    project_id: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    user_id: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    start_time: Mapped[datetime]
    finish_time: Mapped[datetime | None]
    message: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))


class InstanceActionEvent(Base):
    """One step of an action on one host."""

    __tablename__ = "instance_action_events"
    __table_args__ = (sa.Index("ix_instance_action_events_host", "host", "start_time"),)

    id: Mapped[int] = mapped_column(_Number, primary_key=True)
    action_uuid: Mapped[str] = mapped_column(
        sa.ForeignKey(InstanceAction.uuid, ondelete="CASCADE", name="fk_events_action"), index=True
    )
    event: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    host: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    attempt: Mapped[int]
    start_time: Mapped[datetime]
    finish_time: Mapped[datetime | None]
    result: Mapped[str | None] = mapped_column(sa.String(WORD_LENGTH))
    details: Mapped[str | None] = mapped_column(sa.Text)
