"""What the engine answers: batches of candidates that are alike, as columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from placement.columns import Rows


@dataclass(frozen=True)
class Batch:
    """n candidates of k distinct providers each; the k places are called slots.

    ``anchors`` (n,) are the rows of the roots of their trees, ``providers`` (n, k) those of the
    providers. ``resources`` says what each slot gives (nothing, when it serves a group without
    resources only), ``mappings`` which slots serve a group: suffix -> slots.
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
    """The batches, in the order of the answer, and what ruled out the others.

    ``providers_total`` counts the trees that have an inventory (a plain provider is one),
    ``ruled_out`` tells how many of them each rule took out, as ``DecisionTrace`` describes it.
    """

    batches: list[Batch] = field(default_factory=list)
    providers_total: int = 0
    ruled_out: list[dict[str, Any]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many candidates there are."""
        return sum(len(batch) for batch in self.batches)
