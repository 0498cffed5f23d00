"""InstanceCommand: a command to a host's agent, one step of an operation on an instance."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from objects import base, fields
from objects.instance import Instance
from objects.request_spec import RequestSpec


class Verb(enum.StrEnum):
    """Verbs of commands; each is idempotent."""

    POWER_OFF = "power_off"
    POWER_ON = "power_on"
    REBOOT = "reboot"
    PAUSE = "pause"
    """Pause the guest; its memory stays on the host."""
    UNPAUSE = "unpause"
    SUSPEND = "suspend"
    """Stop the guest, and free the host's memory if the driver can."""
    RESUME = "resume"
    RESCUE = "rescue"
    """Run another image on the guest's disks, until ``UNRESCUE``."""
    UNRESCUE = "unrescue"
    SNAPSHOT = "snapshot"
    """Store the guest's data as the data of an image."""
    REBUILD = "rebuild"
    """Destroy the guest and recreate it on the same host, perhaps from another image."""
    CLAIM = "claim"
    """Claim the instance's resources on its destination host."""
    SPAWN = "spawn"
    """Build the guest of an instance on its destination, after ``CLAIM``."""
    DETACH = "detach"
    """Power the guest off; answer with what another host needs to take it over."""
    ATTACH = "attach"
    """Take over a guest that was detached on another host."""
    RESIZE = "resize"
    """Change the guest's flavor on its host; its former resources are kept for a revert."""
    SETTLE = "settle"
    """Release the resources kept for a guest that was resized on its host."""
    DROP = "drop"
    """Destroy what this host has of the instance, and release its resources."""
    KEEP = "keep"
    """Cancel a detach: keep the guest, and power it on again if it was on."""
    DESCRIBE_LIVE = "describe_live"
    PREPARE_LIVE = "prepare_live"
    LIVE_MIGRATE = "live_migrate"
    COMPLETE_LIVE = "complete_live"


@dataclass(frozen=True, slots=True)
class CommandId:
    """Identifies a command: its host, and its number among those for the instance."""

    host: str
    instance_uuid: str
    sequence: int


@base.ArmillaryObjectRegistry.register
class InstanceCommand(base.ArmillaryObject):
    """A command to one host.

    ``sequence`` increases with each command for an instance. Agents ignore a command older than the
    latest one, and answer a repeated one again. ``instance`` has the flavor, image, host and
    attempt that the step needs. ``request_spec`` says what to claim.
    """

    instance: Instance = fields.ObjectField("Instance")
    host: str = fields.HostNameField()
    operation: str = fields.StringField()
    verb: str = fields.StringField()
    sequence: int = fields.IntegerField()
    arguments: dict[str, Any] = fields.JSONField(default={})
    request_spec: RequestSpec | None = fields.ObjectField("RequestSpec", nullable=True)

    @property
    def id(self) -> CommandId:
        return CommandId(self.host, self.instance.uuid, self.sequence)


NEEDS_SOURCE = "needs_source"
"""Key of a migration payload: whether it refers to data that only the source has.

A driver whose payload is complete without its host leaves it out.
"""
SHELVED_IMAGE = "shelved_image"
"""Key of the image with an offloaded server's disk, as a versioned object."""


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """A host's answer to a command; each verb sets some of the fields.

    Only drivers read most of the mappings: one of the same kind, on another host.
    """

    power_state: str | None = None
    exit_code: int | None = None
    migration_payload: Mapping[str, Any] | None = None
    source: Mapping[str, Any] | None = None
    destination: Mapping[str, Any] | None = None
    stored_image: Mapping[str, Any] | None = None
    """Fields of ``StoredImage``."""
    last_number: int | None = None
    """The highest number of a command for the instance that the host has seen, if it is later."""


NO_ANSWER = CommandAnswer()


@dataclass(frozen=True, slots=True)
class BuiltReport:
    """An agent's report that it has built an attempt."""

    host: str
    instance_uuid: str
    attempt: int
    power_state: str
