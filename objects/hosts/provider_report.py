"""ProviderReport: what the owner of a resource provider tells placement of it, as JSON."""

from typing import NotRequired, TypedDict


class ChildReport(TypedDict):
    """A provider below that of a report; ``parent_uuid`` is the latter's or another child's."""

    uuid: str
    name: str
    parent_uuid: str
    inventories: dict[str, dict[str, float]]
    traits: list[str]
    managed_custom_traits: list[str]


class ProviderReport(TypedDict):
    """State of a provider; ``inventories`` as in ``ComputeNode``.

    ``traits`` is the full set of standard traits; CUSTOM_ traits set by others are kept unless
    named in ``managed_custom_traits``. ``children`` are its descendants, parents before their
    children; ``former_children`` are UUIDs of some reported before: those that are no longer
    children are deleted. With ``reshape``, allocations of what is to be removed move in the same
    transaction if the reported tree has room for them elsewhere.
    """

    uuid: str
    name: str
    inventories: dict[str, dict[str, float]]
    traits: list[str]
    managed_custom_traits: NotRequired[list[str]]
    children: NotRequired[list[ChildReport]]
    former_children: NotRequired[list[str]]
    reshape: NotRequired[bool]
