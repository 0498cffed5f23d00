"""ProviderReport, what an owner tells placement of a provider, and ProviderResult, the answer."""

import dataclasses
from typing import NotRequired, TypedDict


class ChildReport(TypedDict):
    """A provider below that of a report; ``parent_uuid`` is the latter's or another child's."""

    uuid: str
    name: str
    parent_uuid: str
    inventories: dict[str, dict[str, float]]
    traits: list[str]
    managed_traits: list[str]


class ProviderReport(TypedDict):
    """State of a provider; ``inventories`` as in ``ComputeNode``.

    ``traits`` are those that the owner sets. Others stay, unless the owner names them in
    ``managed_traits``, because it set them before. ``children`` are its descendants, parents before
    their children; ``former_children`` are UUIDs of some reported before: those that are no longer
    children are deleted. With ``reshape``, allocations of what is to be removed move in the same
    transaction if the reported tree has room for them elsewhere. ``order`` is the number of the
    owner's last change of the provider: a report with a lower one than the last report or deletion
    has come late, and changes nothing.
    """

    uuid: str
    name: str
    inventories: dict[str, dict[str, float]]
    traits: list[str]
    managed_traits: NotRequired[list[str]]
    children: NotRequired[list[ChildReport]]
    former_children: NotRequired[list[str]]
    reshape: NotRequired[bool]
    order: NotRequired[int]


@dataclasses.dataclass(frozen=True, slots=True)
class ProviderResult:
    """The state after a report; if it was refused, ``error`` is a sentence and nothing changed.

    ``uuid`` is empty if the report has none; without a provider ``generation`` is None.
    ``inventories`` maps each class to the fields of its inventory. ``is_not_its_own`` tells that it
    was refused because the provider belongs to another cell. ``later_order`` is that of a later
    report, because of which this one changed nothing.
    """

    uuid: str
    generation: int | None
    inventories: dict[str, dict[str, float]]
    error: str | None
    is_not_its_own: bool = False
    later_order: int | None = None
