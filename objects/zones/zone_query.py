"""ZoneQuery: a query to child zones for hosts; ZoneOrder: a build command to one of them."""

from typing import Any

from objects import base, fields
from objects.request_spec import RequestSpec


@base.ArmillaryObjectRegistry.register
class ZoneQuery(base.ArmillaryObject):
    """A query for the hosts of a zone's sub-tree that could take instances, best first.

    ``visited`` names the zones that the query has passed, the origin first; a zone that finds
    itself there returns an empty answer. ``entries_max`` is N, the maximum number of hosts in any
    zone's answer, at least the number of instances. ``time_limit_seconds`` is the time left for the
    answer, ``profile`` the name of the weighing profile that all zones must share.
    """

    VERSION = "1.0"

    fields = {
        "request_id": fields.StringField(),
        "visited": fields.ListOfStringsField(),
        "request_spec": fields.ObjectField("RequestSpec"),
        "instance_uuids": fields.ListOfStringsField(),
        "entries_max": fields.IntegerField(),
        "time_limit_seconds": fields.FloatField(),
        "profile": fields.StringField(),
    }

    request_id: str
    visited: list[str]
    request_spec: RequestSpec
    instance_uuids: list[str]
    entries_max: int
    time_limit_seconds: float
    profile: str


@base.ArmillaryObjectRegistry.register
class ZoneOrder(base.ArmillaryObject):
    """An attempt of the origin zone: build these instances, each on its given host.

    ``instances`` are wire forms of instances, as the origin created them; ``host_ids`` (of the
    owning zone's compute nodes) and ``attempts`` (counted from 1) have one value for each.
    ``origin`` is the zone that the request came from.
    """

    VERSION = "1.0"

    fields = {
        "origin": fields.StringField(),
        "request_spec": fields.ObjectField("RequestSpec"),
        "instances": fields.JSONField(),
        "host_ids": fields.ListOfStringsField(),
        "attempts": fields.JSONField(),
    }

    origin: str
    request_spec: RequestSpec
    instances: list[dict[str, Any]]
    host_ids: list[str]
    attempts: list[int]
