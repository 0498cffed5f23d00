"""Migration: a move or resize of an instance; until it ends it may hold allocations."""

import enum
from datetime import datetime

from objects import base, fields
from objects.flavor import Flavor


class MigrationType(enum.StrEnum):
    """The kind of move."""

    RESIZE = "resize"
    MIGRATION = "migration"
    LIVE_MIGRATION = "live-migration"
    EVACUATION = "evacuation"


class MigrationStatus(enum.StrEnum):
    """Status of a migration, in Nova's terms."""

    ACCEPTED = "accepted"
    PRE_MIGRATING = "pre-migrating"
    PREPARING = "preparing"
    MIGRATING = "migrating"
    QUEUED = "queued"
    """A live migration that waits until its host can run another one."""
    RUNNING = "running"
    POST_MIGRATING = "post-migrating"
    FINISHED = "finished"
    """Waiting to be confirmed or reverted."""
    CONFIRMING = "confirming"
    REVERTING = "reverting"
    CONFIRMED = "confirmed"
    REVERTED = "reverted"
    COMPLETED = "completed"
    DONE = "done"
    """An evacuation whose source host has not returned yet."""
    CANCELLED = "cancelled"
    ERROR = "error"


ENDED = frozenset(
    {
        MigrationStatus.CONFIRMED,
        MigrationStatus.REVERTED,
        MigrationStatus.COMPLETED,
        MigrationStatus.DONE,
        MigrationStatus.CANCELLED,
        MigrationStatus.ERROR,
    }
)
"""Statuses of migrations that need no further work."""


@base.ArmillaryObjectRegistry.register
class Migration(base.ArmillaryObject):
    """A move; its UUID is the consumer that holds the source allocation until it ends.

    Memory amounts, for live migrations, are in MiB.
    """

    uuid: str = fields.UUIDField()
    instance_uuid: str = fields.UUIDField()
    migration_type: str = fields.StringField()
    status: str = fields.StringField()
    source_host: str | None = fields.HostNameField(nullable=True)
    source_node: str | None = fields.HostNameField(nullable=True)
    dest_host: str | None = fields.HostNameField(nullable=True)
    dest_node: str | None = fields.HostNameField(nullable=True)
    old_flavor: Flavor | None = fields.ObjectField("Flavor", nullable=True)
    new_flavor: Flavor | None = fields.ObjectField("Flavor", nullable=True)
    memory_total_mb: int | None = fields.IntegerField(nullable=True)
    memory_remaining_mb: int | None = fields.IntegerField(nullable=True)
    request_id: str | None = fields.StringField(nullable=True)
    project_id: str | None = fields.StringField(nullable=True)
    user_id: str | None = fields.StringField(nullable=True)
    cell_uuid: str | None = fields.UUIDField(nullable=True)
    created_at: datetime | None = fields.DateTimeField(nullable=True)
    updated_at: datetime | None = fields.DateTimeField(nullable=True)

    @property
    def has_ended(self) -> bool:
        """Return whether the migration needs no further work."""
        return self.status in ENDED
