"""ServerRecord: the data that one cell sends another about an instance moving between them."""

from typing import Any

from objects import base, fields
from objects.instance import Instance
from objects.instances.instance_action import InstanceAction
from objects.instances.instance_fault import InstanceFault
from objects.instances.migration import Migration

ACTIONS_MAX = 200
FAULTS_MAX = 100
"""Maximum numbers of actions and faults that are sent, the newest ones."""


@base.ArmillaryObjectRegistry.register
class ServerRecord(base.ArmillaryObject):
    """An instance, its current migration, and its history.

    ``flow_state`` has the data to end the move: both ends, each with the UUID of its cell.
    ``commands_total`` is the number of the last command to an agent. ``actions`` (newest first) and
    ``faults`` (oldest first) are empty unless the instance changes its cell now.
    """

    instance: Instance = fields.ObjectField("Instance")
    migration: Migration = fields.ObjectField("Migration")
    flow_state: dict[str, Any] = fields.JSONField(default={})
    commands_total: int = fields.IntegerField()
    actions: list[InstanceAction] = fields.ListOfObjectsField("InstanceAction", default=[])
    faults: list[InstanceFault] = fields.ListOfObjectsField("InstanceFault", default=[])
