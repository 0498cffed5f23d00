"""InstanceMapping: the cell or zone of an instance."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class InstanceMapping:
    """``cell_uuid`` is None while no cell has the instance, ``zone_path`` unless a zone has it.

    It never leaves the super conductor.
    """

    instance_uuid: str
    cell_uuid: str | None
    project_id: str
    user_id: str
    queued_for_delete: bool
    zone_path: str | None
    created_at: datetime
