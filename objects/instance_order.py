"""InstanceOrder: one step of an operation on an instance, told to the agent of a host."""

from __future__ import annotations

import enum
from typing import Any

from objects import base, fields
from objects.instance import Instance
from objects.request_spec import RequestSpec


class Verb(enum.StrEnum):
    """What an agent may be told; each may be done twice."""

    POWER_OFF = "power_off"
    POWER_ON = "power_on"
    REBOOT = "reboot"
    REBUILD = "rebuild"
    """Destroy the guest, and build it anew on the same host, perhaps from another image."""
    CLAIM = "claim"
    """Set aside what the instance needs on a host where it is to arrive."""
    SPAWN = "spawn"
    """Build the guest of an instance that has arrived; it was claimed for before."""
    DETACH = "detach"
    """Power the guest off, and answer what another host needs to take it over."""
    ATTACH = "attach"
    """Take over a guest that was detached on another host."""
    RESIZE = "resize"
    """Give the guest another flavor on the host where it is; what it had is kept for it."""
    SETTLE = "settle"
    """Give up what was kept for a guest that was resized on its host."""
    DROP = "drop"
    """Destroy what is here of the instance, and give up its resources."""
    KEEP = "keep"
    """What was to leave stays: power it on again if it was on."""
    DESCRIBE_LIVE = "describe_live"
    PREPARE_LIVE = "prepare_live"
    LIVE_MIGRATE = "live_migrate"
    COMPLETE_LIVE = "complete_live"


@base.ArmillaryObjectRegistry.register
class InstanceOrder(base.ArmillaryObject):
    """An order to one host.

    ``sequence`` grows with each order for an instance; an older one than was seen is late and
    ignored, the same one again is answered again. ``instance`` is as the step has to see it: its
    flavor, image, host and attempt. ``request_spec`` says what is to be claimed.
    """

    VERSION = "1.0"

    fields = {
        "instance": fields.ObjectField("Instance"),
        "host": fields.StringField(),
        "operation": fields.StringField(),
        "verb": fields.StringField(),
        "sequence": fields.IntegerField(),
        "arguments": fields.JSONField(default={}),
        "request_spec": fields.ObjectField("RequestSpec", nullable=True),
    }

    instance: Instance
    host: str
    operation: str
    verb: str
    sequence: int
    arguments: dict[str, Any]
    request_spec: RequestSpec | None
