"""Selection: a host chosen for an instance, with the data to claim and build there."""

from objects import base, fields
from objects.request_spec import SchedulerLimits


@base.ArmillaryObjectRegistry.register
class Selection(base.ArmillaryObject):
    """The selected host is claimed, alternates are not.

    ``allocation_request`` maps provider UUID to ``{"resources": {class: amount}}``.
    """

    VERSION = "1.0"

    fields = {
        "compute_node_uuid": fields.UUIDField(),
        "service_host": fields.StringField(),
        "nodename": fields.StringField(),
        "cell_uuid": fields.UUIDField(),
        "limits": fields.ObjectField("SchedulerLimits", nullable=True),
        "allocation_request": fields.JSONField(),
        "availability_zone": fields.StringField(nullable=True),
    }

    compute_node_uuid: str
    service_host: str
    nodename: str
    cell_uuid: str
    limits: SchedulerLimits | None
    allocation_request: dict[str, dict[str, dict[str, int]]]
    availability_zone: str | None
