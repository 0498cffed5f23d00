"""BuildRequest: an accepted request for one instance that no cell has accepted yet."""

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

    VERSION = "1.0"

    fields = {
        "instance_uuid": fields.UUIDField(),
        "reservation_id": fields.StringField(),
        "project_id": fields.StringField(),
        "instance": fields.ObjectField("Instance"),
        "request_spec": fields.ObjectField("RequestSpec"),
        "selections": fields.ListOfObjectsField("Selection", default=[]),
        "fence": fields.IntegerField(default=0),
        "created_at": fields.DateTimeField(nullable=True),
    }

    instance_uuid: str
    reservation_id: str
    project_id: str
    instance: Instance
    request_spec: RequestSpec
    selections: list[Selection]
    fence: int
