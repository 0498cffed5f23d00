"""Tables of what can be requested, and of the quotas for it."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from conductor.super_conductor.db.models.base import NAME_LENGTH, UUID_LENGTH, WORD_LENGTH, Base


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
    """A user's public key; see ``objects.key_pair``. ``request_id`` is that of its creation."""

    __tablename__ = "key_pairs"

    user_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True)
    public_key: Mapped[str] = mapped_column(sa.Text)
    fingerprint: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))
    created_at: Mapped[datetime]
    kind: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    request_id: Mapped[str] = mapped_column(sa.String(NAME_LENGTH))


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
