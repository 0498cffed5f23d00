"""A provider as shown by the API, and the filters of provider lists."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ProviderRecord:
    """A provider and its position in a tree; a root has no parent and is its own root."""

    id: int
    uuid: str
    name: str
    generation: int
    parent_provider_uuid: str | None
    root_provider_uuid: str
    root_id: int
    updated_at: dt.datetime


@dataclass(frozen=True, slots=True)
class ProviderAggregates:
    """The aggregates of a provider, in the order in which they were first seen."""

    provider_id: int
    aggregates: list[str]
    generation: int
    updated_at: dt.datetime


@dataclass(frozen=True, slots=True)
class ProviderFilters:
    """Filters of a provider list; of each inner tuple one name suffices.

    ``in_tree`` names any provider of the tree. ``member_of`` applies to the provider itself, not to
    its ancestors.
    """

    name: str | None = None
    uuid: str | None = None
    in_tree: str | None = None
    resources: Mapping[str, int] = field(default_factory=dict)
    required_traits: tuple[tuple[str, ...], ...] = ()
    forbidden_traits: tuple[str, ...] = ()
    member_of: tuple[tuple[str, ...], ...] = ()
    forbidden_aggregates: tuple[str, ...] = ()
