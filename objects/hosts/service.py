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

    VERSION = "1.0"

    fields = {
        "uuid": fields.UUIDField(),
        "host": fields.HostNameField(),
        "binary": fields.StringField(),
        "agent": fields.HostNameField(nullable=True),
        "cell_uuid": fields.UUIDField(nullable=True),
        "version": fields.IntegerField(default=1),
        "disabled": fields.BooleanField(default=False),
        "disabled_reason": fields.StringField(nullable=True),
        "forced_down": fields.BooleanField(default=False),
        "report_count": fields.IntegerField(default=0),
        "last_seen_up": fields.DateTimeField(nullable=True),
        "created_at": fields.DateTimeField(nullable=True),
        "up": fields.BooleanField(default=False),
        "availability_zone": fields.StringField(nullable=True),
    }

    uuid: str
    host: str
    binary: str
    agent: str | None
    cell_uuid: str | None
    version: int
    disabled: bool
    disabled_reason: str | None
    forced_down: bool
    report_count: int
    last_seen_up: datetime | None
    created_at: datetime | None
    up: bool
    availability_zone: str | None
