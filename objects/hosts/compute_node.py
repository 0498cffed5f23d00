"""ComputeNode: a hypervisor as its agent reports it; its UUID is its resource provider's."""

from datetime import datetime
from typing import Any

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class ComputeNode(base.ArmillaryObject):
    """A node's resources and usage.

    ``attributes`` holds the values declared in ``host_attributes`` that the agent collects, by
    name. ``inventories`` maps a resource class to total, reserved, min_unit, max_unit, step_size
    (integers) and allocation_ratio (float); ``traits`` are trait names. ``child_providers`` are the
    nested resource providers, parents before their children: dicts of uuid, name, parent_uuid (the
    node's or another child's), inventories and traits. These three go to placement through the cell
    conductor.
    """

    uuid: str = fields.UUIDField()
    host: str = fields.HostNameField()
    node: str = fields.HostNameField()
    cell_uuid: str | None = fields.UUIDField(nullable=True)
    attributes: dict[str, Any] = fields.JSONField(default={})
    inventories: dict[str, dict[str, float]] = fields.JSONField(default={})
    traits: list[str] = fields.ListOfStringsField(default=[])
    child_providers: list[dict[str, Any]] = fields.JSONField(default=[])
    created_at: datetime | None = fields.DateTimeField(nullable=True)
    updated_at: datetime | None = fields.DateTimeField(nullable=True)
