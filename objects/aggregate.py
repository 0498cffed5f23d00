"""Aggregate: a set of hosts with metadata, which may name an availability zone."""

from dataclasses import dataclass
from datetime import datetime

from objects import base, fields

AVAILABILITY_ZONE_KEY = "availability_zone"


@base.ArmillaryObjectRegistry.register
class Aggregate(base.ArmillaryObject):
    """A set of hosts, mirrored to placement under the same UUID. Metadata values are strings."""

    id: int = fields.IntegerField()
    uuid: str = fields.UUIDField()
    name: str = fields.StringField()
    hosts: list[str] = fields.ListOfStringsField(default=[])
    metadata: dict[str, str] = fields.DictOfStringsField(default={})
    created_at: datetime | None = fields.DateTimeField(nullable=True)
    updated_at: datetime | None = fields.DateTimeField(nullable=True)

    @property
    def availability_zone(self) -> str | None:
        """The availability zone that this aggregate names for its hosts, if any."""
        return self.metadata.get(AVAILABILITY_ZONE_KEY)


@dataclass(frozen=True, slots=True)
class AggregateChanges:
    """Changes of an aggregate; None leaves a field. In ``metadata`` None removes a key."""

    name: str | None = None
    metadata: dict[str, str | None] | None = None
