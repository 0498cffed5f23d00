"""ResourceQuery: a query for allocation candidates, as request groups."""

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class RequestGroup(base.ArmillaryObject):
    """Resources to be provided by one provider (tree), and its required properties.

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
    """A query for allocation candidates. ``limit`` null means all.

    ``root_required`` and ``root_forbidden`` are traits of the root of each candidate's tree. The
    groups of one list in ``same_subtree`` (their suffixes) are provided below a provider that
    serves one of them. Unless ``is_nested``, no two providers of a tree are combined, as clients
    without support for nested providers expect.
    """

    VERSION = "1.0"

    fields = {
        "groups": fields.ListOfObjectsField("RequestGroup", default=[]),
        "group_policy": fields.StringField(nullable=True),
        "limit": fields.IntegerField(nullable=True),
        "root_required": fields.ListOfStringsField(default=[]),
        "root_forbidden": fields.ListOfStringsField(default=[]),
        "same_subtree": fields.JSONField(default=[]),
        "is_nested": fields.BooleanField(default=True),
    }

    groups: list[RequestGroup]
    group_policy: str | None
    limit: int | None
    root_required: list[str]
    root_forbidden: list[str]
    same_subtree: list[list[str]]
    is_nested: bool
