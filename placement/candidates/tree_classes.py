"""Classes of equivalent trees: those with equal providers for a query share one plan.

A tree is encoded as a short row of numbers: for each relevant provider a code of its relevant
properties, and the position of its nearest relevant ancestor. Leaves below the same provider are
sorted by code, so that equal trees have equal rows, whichever of their devices are in use.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from placement.candidates.eligible import Eligible
from placement.candidates.entries import Entries
from placement.candidates.problem import Problem
from placement.ledger import feasibility
from placement.providers.columns import Numbers, Rows
from placement.providers.provider_table import ProviderTable

_WORD_MAX = 2**62
_NONE = -1


@dataclass(frozen=True, slots=True)
class Node:
    """Relevant properties of a provider: what it can serve, its traits, its contested free amounts.

    ``needs`` and ``traits`` are bit sets. ``tree`` identifies the provider's tree, where that
    matters. ``is_own``: it is not a sharing provider and belongs to this tree only.
    """

    needs: int
    traits: int
    room: tuple[int, ...]
    tree: int
    is_own: bool


@dataclass(frozen=True, slots=True)
class TreeClass:
    """The nodes of a tree, and for each the position of its nearest ancestor, or -1."""

    nodes: tuple[Node, ...]
    above: tuple[int, ...]


class TreeClassFinder:
    """Find the kinds of trees, chunk by chunk; kinds are numbered across all chunks."""

    def __init__(
        self,
        table: ProviderTable,
        problem: Problem,
        eligible: Eligible,
        rng: np.random.Generator | None,
    ) -> None:
        self._table = table
        self._problem = problem
        self._eligible = eligible
        self._rng = rng
        self._is_shared = table.sharing.is_shared(table.size)
        self._rooms = _rooms(table, problem, eligible)
        self._codes: dict[int | tuple[int, ...], int] = {}
        self._nodes: list[Node] = []
        self._numbers: dict[bytes, int] = {}
        self.kinds: list[TreeClass] = []

    def sort(self, entries: Entries) -> Iterator[tuple[Rows, list[int], Rows]]:
        """Yield trees of the same size: positions (t,), kinds, rows of the providers (t, nodes)."""
        trees = np.repeat(np.arange(len(entries.anchors)), entries.counts)
        codes = self._encode(trees, entries)
        order, above = self._in_order(trees, codes, entries)
        rows, codes = entries.rows[order], codes[order]
        for count in np.unique(entries.counts).tolist():
            positions = np.flatnonzero(entries.counts == count)
            cells = entries.starts[positions][:, np.newaxis] + np.arange(count)
            keys = np.concatenate((codes[cells], above[cells]), axis=1)
            yield positions, [self._number(key) for key in _as_bytes(keys)], rows[cells]

    def _number(self, key: bytes) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self.kinds)
            values = np.frombuffer(key, np.int64).tolist()
            codes, above = values[: len(values) // 2], values[len(values) // 2 :]
            self.kinds.append(TreeClass(tuple(self._nodes[code] for code in codes), tuple(above)))
        return self._numbers[key]

    def _encode(self, trees: Rows, entries: Entries) -> Numbers:
        """Return the code of each entry: equal for equivalent providers."""
        columns = [*self._columns(trees, entries)]
        words = _words(columns)
        axis = 0 if words.ndim == 2 else None
        distinct, first, inverse = np.unique(
            words, return_index=True, return_inverse=True, axis=axis
        )
        numbers = np.empty(len(distinct), np.int64)
        for at, (word, entry) in enumerate(zip(distinct.tolist(), first.tolist(), strict=True)):
            key = tuple(word) if axis == 0 else word
            if key not in self._codes:
                self._codes[key] = len(self._nodes)
                self._nodes.append(self._node([int(column[entry]) for column, _ in columns]))
            numbers[at] = self._codes[key]
        return numbers[inverse.reshape(-1)]

    def _columns(self, trees: Rows, entries: Entries) -> Iterator[tuple[Numbers, int]]:
        """Yield the relevant properties, each with a bound; ``_node`` reads them in this order."""
        rows = entries.rows
        for can_serve in self._eligible.can_serve:
            yield can_serve[rows].astype(np.int64), 2
        for has_trait in self._eligible.has_trait:
            yield has_trait[rows].astype(np.int64), 2
        for room, bound in self._rooms:
            yield room[rows], bound
        yield (~self._is_shared[rows]).astype(np.int64), 2
        if self._problem.is_nested:
            yield np.zeros(len(rows), np.int64), 1
        else:
            roots = self._table.root_rows[rows]
            yield np.where(roots == entries.anchors[trees], 0, roots + 1), self._table.size + 1

    def _node(self, values: list[int]) -> Node:
        needs, traits = len(self._eligible.can_serve), len(self._eligible.has_trait)
        return Node(
            needs=_bits(values[:needs]),
            traits=_bits(values[needs : needs + traits]),
            room=tuple(values[needs + traits : -2]),
            tree=values[-1],
            is_own=bool(values[-2]),
        )

    def _in_order(self, trees: Rows, codes: Numbers, entries: Entries) -> tuple[Rows, Rows]:
        """Return the sort order of the entries, and the position of each one's ancestor."""
        ties = np.zeros(len(codes)) if self._rng is None else self._rng.random(len(codes))
        if not self._problem.same_subtrees:
            nothing_above = np.full(len(codes), _NONE, np.int64)
            return np.lexsort((ties, codes, trees)), nothing_above
        above = self._entries_above(trees, entries)
        entry = np.arange(len(codes))
        is_leaf = np.ones(len(codes), np.bool_)
        is_leaf[above[above != _NONE]] = False
        group = np.where(is_leaf, above, entry)
        order = np.lexsort((ties, np.where(is_leaf, codes, 0), group, is_leaf, trees))
        place = np.empty(len(codes), np.int64)
        place[order] = entry - np.repeat(entries.starts, entries.counts)
        return order, np.where(above == _NONE, _NONE, place[above])[order]

    def _entries_above(self, trees: Rows, entries: Entries) -> Rows:
        """Return for each entry the entry of its nearest ancestor, or -1."""
        size = self._table.size
        keys = trees * size + entries.rows
        order = np.argsort(keys, kind="stable")
        found = np.full(len(keys), _NONE, np.int64)
        higher = self._table.parent_rows[entries.rows]
        looking = np.flatnonzero(higher != _NONE)
        while len(looking):
            wanted = trees[looking] * size + higher[looking]
            at = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
            is_found = keys[order[at]] == wanted
            found[looking[is_found]] = order[at[is_found]]
            looking = looking[~is_found]
            higher[looking] = self._table.parent_rows[higher[looking]]
            looking = looking[higher[looking] != _NONE]
        return found


def _rooms(table: ProviderTable, problem: Problem, eligible: Eligible) -> list[tuple[Numbers, int]]:
    """Return the free amount of each contested class, up to the total requested, and a bound."""
    found = []
    for name in problem.contested:
        most = problem.totals[name]
        free = np.clip(feasibility.free(table.columns_of(name)), 0, most)
        needs = {demand.need for demand in problem.demands if name in demand.resources}
        matters = np.logical_or.reduce([eligible.can_serve[need] for need in needs])
        found.append((np.where(matters, free, 0), most + 1))
    return found


def _words(columns: list[tuple[Numbers, int]]) -> Numbers:
    """Pack columns into one, or into as few as possible: shape (n,) or (n, words)."""
    words, size = [columns[0][0]], columns[0][1]
    for column, bound in columns[1:]:
        if size * bound > _WORD_MAX:
            words.append(column)
            size = bound
        else:
            words[-1] = words[-1] * bound + column
            size *= bound
    return words[0] if len(words) == 1 else np.stack(words, axis=1)


def _as_bytes(keys: Numbers) -> list[bytes]:
    width = keys.shape[1] * keys.itemsize
    packed = np.ascontiguousarray(keys).view(np.dtype((np.void, width)))
    return cast("list[bytes]", packed.ravel().tolist())


def _bits(values: list[int]) -> int:
    return sum(1 << at for at, value in enumerate(values) if value)
