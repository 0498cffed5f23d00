"""Changes since an epoch that update a provider table."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from placement.providers.inventory import Inventory


class ChangedProvider(NamedTuple):
    """A new or changed provider, by database ids."""

    id: int
    uuid: str
    root_id: int
    parent_id: int | None = None


@dataclass
class ProviderChanges:
    """Changes that bring a table of an older epoch to ``epoch``.

    For each of ``providers``, all its ``inventories``, ``usages``, ``traits`` and ``aggregates``
    are given; ``usages`` may name other providers, too. Parents and roots are known already, or
    included.
    """

    epoch: int
    gone: Sequence[int] = ()
    providers: Sequence[ChangedProvider] = ()
    inventories: dict[str, list[tuple[int, Inventory]]] = field(default_factory=dict)
    usages: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    traits: dict[str, list[int]] = field(default_factory=dict)
    aggregates: dict[str, list[int]] = field(default_factory=dict)
