"""Aggregate: a set of hosts with metadata, which may name an availability zone."""

from datetime import datetime

from objects import base, fields

AVAILABILITY_ZONE_KEY = "availability_zone"


@base.ArmillaryObjectRegistry.register
class Aggregate(base.ArmillaryObject):
    """A set of hosts, mirrored to placement under the same UUID. Metadata values are strings."""

    VERSION = "1.0"

    fields = {
        "id": fields.IntegerField(),
        "uuid": fields.UUIDField(),
        "name": fields.StringField(),
        "hosts": fields.ListOfStringsField(default=[]),
        "metadata": fields.DictOfStringsField(default={}),
        "created_at": fields.DateTimeField(nullable=True),
        "updated_at": fields.DateTimeField(nullable=True),
    }

    id: int
    uuid: str
    name: str
    hosts: list[str]
    metadata: dict[str, str]
    created_at: datetime | None
    updated_at: datetime | None

    @property
    def availability_zone(self) -> str | None:
        """The availability zone that this aggregate names for its hosts, if any."""
        return self.metadata.get(AVAILABILITY_ZONE_KEY)
