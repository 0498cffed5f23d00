"""HostStateBatch: host states as columns, sent by a cell to the schedulers in sequence."""

from typing import Any

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class HostStateBatch(base.ArmillaryObject):
    """All rows of one cell that changed after ``first_seq`` up to ``last_seq``, or all (``full``).

    A receiver at sequence s applies a batch with first_seq <= s < last_seq or ``full``. It ignores
    one with last_seq <= s (unless full). If first_seq > s there is a gap, and it asks the cell for
    the changes after s. ``attributes`` maps every name in ``host_attributes`` to a list, one value
    for each row; ``removed`` holds UUIDs of removed nodes. An empty batch (first_seq == last_seq)
    is a heartbeat.
    """

    cell_uuid: str = fields.UUIDField()
    first_seq: int = fields.IntegerField()
    last_seq: int = fields.IntegerField()
    full: bool = fields.BooleanField(default=False)
    node_uuids: list[str] = fields.StringColumnField(default=[])
    hosts: list[str] = fields.StringColumnField(default=[])
    nodes: list[str] = fields.StringColumnField(default=[])
    attributes: dict[str, list[Any]] = fields.JSONField(default={})
    removed: list[str] = fields.StringColumnField(default=[])
