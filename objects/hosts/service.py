"""Service: a process on a host, and whether it is up."""

from datetime import datetime

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class Service(base.ArmillaryObject):
    """A service record. ``agent`` is the RPC server name of the host's agent.

    One agent process may serve many hosts; then ``agent`` and ``host`` differ. ``up`` is computed
    by the record's owner when it is read: not forced down, and with a heartbeat within
    ``service_down_time`` seconds. ``armillary.service_history`` documents the values of
    ``version``.
    """

    uuid: str = fields.UUIDField()
    host: str = fields.HostNameField()
    binary: str = fields.StringField()
    agent: str | None = fields.HostNameField(nullable=True)
    cell_uuid: str | None = fields.UUIDField(nullable=True)
    version: int = fields.IntegerField(default=1)
    disabled: bool = fields.BooleanField(default=False)
    disabled_reason: str | None = fields.StringField(nullable=True)
    forced_down: bool = fields.BooleanField(default=False)
    report_count: int = fields.IntegerField(default=0)
    last_seen_up: datetime | None = fields.DateTimeField(nullable=True)
    created_at: datetime | None = fields.DateTimeField(nullable=True)
    up: bool = fields.BooleanField(default=False)
    availability_zone: str | None = fields.StringField(nullable=True)
