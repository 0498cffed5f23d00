"""Selection: a host chosen for an instance, with the data to claim and build there."""

from objects import base, fields
from objects.request_spec import SchedulerLimits


@base.ArmillaryObjectRegistry.register
class Selection(base.ArmillaryObject):
    """The selected host is claimed, alternates are not.

    ``allocation_request`` maps provider UUID to ``{"resources": {class: amount}}``.
    """

    compute_node_uuid: str = fields.UUIDField()
    service_host: str = fields.StringField()
    nodename: str = fields.StringField()
    cell_uuid: str = fields.UUIDField()
    limits: SchedulerLimits | None = fields.ObjectField("SchedulerLimits", nullable=True)
    allocation_request: dict[str, dict[str, dict[str, int]]] = fields.JSONField()
    availability_zone: str | None = fields.StringField(nullable=True)
