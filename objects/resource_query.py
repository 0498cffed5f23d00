"""ResourceQuery: what is asked of placement, by request groups."""

from __future__ import annotations

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class RequestGroup(base.ArmillaryObject):
    """Resources that one provider (tree) has to serve, and the qualities it needs.

    ``suffix`` is empty for the unnumbered group. ``required_traits`` is a list of lists: at least
    one trait of each inner list; ``member_of`` likewise for aggregates.
    """

    VERSION = "1.0"

    fields = {
        "suffix": fields.StringField(default=""),
        "resources": fields.DictOfIntegersField(default={}),
        "required_traits": fields.JSONField(default=[]),
        "forbidden_traits": fields.ListOfStringsField(default=[]),
        "member_of": fields.JSONField(default=[]),
        "forbidden_aggregates": fields.ListOfStringsField(default=[]),
        "in_tree": fields.UUIDField(nullable=True),
    }

    suffix: str
    resources: dict[str, int]
    required_traits: list[list[str]]
    forbidden_traits: list[str]
    member_of: list[list[str]]
    forbidden_aggregates: list[str]
    in_tree: str | None


@base.ArmillaryObjectRegistry.register
class ResourceQuery(base.ArmillaryObject):
    """A question for allocation candidates. ``limit`` null means all."""

    VERSION = "1.0"

    fields = {
        "groups": fields.ListOfObjectsField("RequestGroup", default=[]),
        "group_policy": fields.StringField(nullable=True),
        "limit": fields.IntegerField(nullable=True),
    }

    groups: list[RequestGroup]
    group_policy: str | None
    limit: int | None
