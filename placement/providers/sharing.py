"""Sharing providers: which trees can use them, by common aggregates."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from objects.hosts import operator_traits
from placement.providers.columns import Mask, Rows

SHARING_TRAIT = operator_traits.SHARING_TRAIT


@dataclass(frozen=True)
class Sharing:
    """Pairs of rows: the root of a tree (ascending), and a sharing provider of another tree."""

    anchors: Rows
    providers: Rows

    def is_shared(self, size: int) -> Mask:
        """Return for each row whether it is shared with any tree."""
        mask = np.zeros(size, np.bool_)
        mask[self.providers] = True
        return mask


def find_sharing(
    sharers: Iterable[int],
    root_rows: Rows,
    aggregates_of: Mapping[int, Sequence[str]],
    members_of: Mapping[str, set[int]],
) -> Sharing:
    """Return the pairs: a sharing provider with each tree that has a member in its aggregates."""
    anchors: list[Rows] = [np.empty(0, np.intp)]
    providers: list[Rows] = [np.empty(0, np.intp)]
    for row in sharers:
        members = set().union(*(members_of[name] for name in aggregates_of.get(row, ())))
        roots = np.unique(root_rows[np.fromiter(members, np.intp, len(members))])
        anchors.append(roots[roots != root_rows[row]])
        providers.append(np.full(len(anchors[-1]), row, np.intp))
    all_anchors, all_providers = np.concatenate(anchors), np.concatenate(providers)
    order = np.argsort(all_anchors, kind="stable")
    return Sharing(all_anchors[order], all_providers[order])
