"""What a provider table lacks: the facts that changed since its epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from placement.inventory import Inventory


class ChangedProvider(NamedTuple):
    """A provider that is new or has other facts, by its numbers in the database."""

    id: int
    uuid: str
    root_id: int
    parent_id: int | None = None


@dataclass
class ProviderChanges:
    """What a table of an older epoch lacks, to become one of ``epoch``.

    For each of ``providers`` all of ``inventories``, ``usages``, ``traits`` and ``aggregates`` are
    given; ``usages`` may name others, too. Parents and roots are known already, or among them.
    """

    epoch: int
    gone: Sequence[int] = ()
    providers: Sequence[ChangedProvider] = ()
    inventories: dict[str, list[tuple[int, Inventory]]] = field(default_factory=dict)
    usages: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    traits: dict[str, list[int]] = field(default_factory=dict)
    aggregates: dict[str, list[int]] = field(default_factory=dict)
