"""ZoneQuery: a query to child zones for hosts; ZoneOrder: a build command to one of them."""

from objects import base, fields
from objects.images.image_ticket import PlainTicket
from objects.request_spec import RequestSpec


@base.ArmillaryObjectRegistry.register
class ZoneQuery(base.ArmillaryObject):
    """A query for the hosts of a zone's sub-tree that could take instances, best first.

    ``visited`` names the zones that the query has passed, the origin first; a zone that finds
    itself there returns an empty answer. ``entries_max`` is N, the maximum number of hosts in any
    zone's answer, at least the number of instances. ``time_limit_seconds`` is the time left for the
    answer, ``profile`` the name of the weighing profile that all zones must share. ``only`` has the
    paths of the zones to search, relative to the asked zone, if these are not all: others, and the
    asked zone itself, offer nothing.
    """

    VERSION = "1.0"

    request_id: str = fields.StringField()
    visited: list[str] = fields.ListOfStringsField()
    request_spec: RequestSpec = fields.ObjectField("RequestSpec")
    instance_uuids: list[str] = fields.ListOfStringsField()
    entries_max: int = fields.IntegerField()
    time_limit_seconds: float = fields.FloatField()
    profile: str = fields.StringField()
    only: list[list[str]] = fields.JSONField(default=[])


@base.ArmillaryObjectRegistry.register
class ZoneOrder(base.ArmillaryObject):
    """An attempt of the origin zone: build these instances, each on its given host.

    ``instances`` are wire forms of instances, as the origin created them; ``host_ids`` (of the
    owning zone's compute nodes) and ``attempts`` (counted from 1) have one value for each.
    ``origin`` is the zone that the request came from. ``image_tickets`` has one for each, too, by
    which hosts read the origin's image (None without a ticket); none at all is
    the same as None for all.
    """

    VERSION = "1.0"

    origin: str = fields.StringField()
    request_spec: RequestSpec = fields.ObjectField("RequestSpec")
    instances: list[base.Primitive] = fields.JSONField()
    host_ids: list[str] = fields.ListOfStringsField()
    attempts: list[int] = fields.JSONField()
    image_tickets: list[PlainTicket | None] = fields.JSONField(default=[])
