"""ResourceQuery: a query for allocation candidates, as request groups."""

from __future__ import annotations

from typing import Any

from oslo_utils import versionutils

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

    Version history: 1.0 initial; 1.1 adds root_required, root_forbidden, same_subtree, is_nested.
    """

    VERSION = "1.1"

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

    def obj_make_compatible(self, primitive: dict[str, Any], target_version: str) -> None:
        """Move the root's traits to the only group: a receiver of 1.0 does not know trees.

        It refuses several groups itself, so ``same_subtree`` is never ignored.
        """
        super().obj_make_compatible(primitive, target_version)
        if versionutils.convert_version_to_tuple(target_version) >= (1, 1):
            return
        required, forbidden = (
            primitive.pop("root_required", []),
            primitive.pop("root_forbidden", []),
        )
        primitive.pop("same_subtree", None)
        primitive.pop("is_nested", None)
        for group in primitive.get("groups", [])[:1]:
            data = group[self.primitive_key("data")]
            data["required_traits"] = [*data["required_traits"], *([trait] for trait in required)]
            data["forbidden_traits"] = [*data["forbidden_traits"], *forbidden]
