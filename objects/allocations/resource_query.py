"""ResourceQuery: a query for allocation candidates, as request groups."""

from objects import base, fields


@base.ArmillaryObjectRegistry.register
class RequestGroup(base.ArmillaryObject):
    """Resources to be provided by one provider (tree), and its required properties.

    ``suffix`` is empty for the unnumbered group. ``required_traits`` is a list of lists: at least
    one trait of each inner list; ``member_of`` likewise for aggregates.
    """

    suffix: str = fields.StringField(default="")
    resources: dict[str, int] = fields.DictOfIntegersField(default={})
    required_traits: list[list[str]] = fields.JSONField(default=[])
    forbidden_traits: list[str] = fields.ListOfStringsField(default=[])
    member_of: list[list[str]] = fields.JSONField(default=[])
    forbidden_aggregates: list[str] = fields.ListOfStringsField(default=[])
    in_tree: str | None = fields.UUIDField(nullable=True)


@base.ArmillaryObjectRegistry.register
class ResourceQuery(base.ArmillaryObject):
    """A query for allocation candidates. ``limit`` null means all.

    ``root_required`` and ``root_forbidden`` are traits of the root of each candidate's tree, and of
    ``without_resources`` no provider of that tree has an inventory. The groups of one list in
    ``same_subtree`` (their suffixes) are provided below a provider that serves one of them. Unless
    ``is_nested``, no two providers of a tree are combined, as clients without support for nested
    providers expect.
    """

    groups: list[RequestGroup] = fields.ListOfObjectsField("RequestGroup", default=[])
    group_policy: str | None = fields.StringField(nullable=True)
    limit: int | None = fields.IntegerField(nullable=True)
    root_required: list[str] = fields.ListOfStringsField(default=[])
    root_forbidden: list[str] = fields.ListOfStringsField(default=[])
    without_resources: list[str] = fields.ListOfStringsField(default=[])
    same_subtree: list[list[str]] = fields.JSONField(default=[])
    is_nested: bool = fields.BooleanField(default=True)
