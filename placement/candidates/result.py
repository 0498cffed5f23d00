"""Result of the engine: batches of similar candidates, as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from objects.traces.explanation import Lack, Rejection
from placement.providers.columns import Rows


@dataclass(frozen=True)
class Batch:
    """n candidates of k distinct providers each; the k positions are called slots.

    ``anchors`` (n,) are the rows of the roots of their trees, ``providers`` (n, k) those of the
    providers. ``resources`` has the amounts of each slot (none, if it serves only a group without
    resources), ``mappings`` the slots that serve each group: suffix -> slots.
    """

    anchors: Rows
    providers: Rows
    resources: tuple[Mapping[str, int], ...]
    mappings: Mapping[str, tuple[int, ...]]

    def __len__(self) -> int:
        return len(self.anchors)

    def only(self, positions: Rows) -> Batch:
        """Return some of the candidates."""
        return replace(self, anchors=self.anchors[positions], providers=self.providers[positions])


@dataclass(frozen=True)
class Found:
    """The batches, in the order of the answer, and the rules that removed the other trees.

    ``providers_total`` counts the trees with an inventory (a single provider is one); ``ruled_out``
    has the number of trees that each rule removed, as ``DecisionTrace`` describes. ``lacks`` is
    the smallest change that would give a candidate, if there is none.
    """

    batches: list[Batch] = field(default_factory=list)
    providers_total: int = 0
    ruled_out: list[Rejection] = field(default_factory=list)
    lacks: list[Lack] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Number of candidates."""
        return sum(len(batch) for batch in self.batches)
