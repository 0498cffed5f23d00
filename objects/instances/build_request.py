"""BuildRequest: an accepted request for one instance that no cell has accepted yet."""

from datetime import datetime

from objects import base, fields
from objects.instance import Instance
from objects.request_spec import RequestSpec
from objects.selection import Selection


@base.ArmillaryObjectRegistry.register
class BuildRequest(base.ArmillaryObject):
    """A pending build, shown by the API until the instance is in a cell.

    ``selections`` is empty until the scheduler has answered, then the chosen host and its
    alternates, which are handed to the cell unchanged. ``fence`` orders all writes to placement for
    this instance.
    """

    instance_uuid: str = fields.UUIDField()
    reservation_id: str = fields.StringField()
    project_id: str = fields.StringField()
    instance: Instance = fields.ObjectField("Instance")
    request_spec: RequestSpec = fields.ObjectField("RequestSpec")
    selections: list[Selection] = fields.ListOfObjectsField("Selection", default=[])
    fence: int = fields.IntegerField(default=0)
    created_at: datetime | None = fields.DateTimeField(nullable=True)
