"""Provider table: one row per provider and one column per fact, for array operations.

It is a view of the database as of ``epoch``. It does not access the database: changes are passed to
``apply``.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from objects.packed.packing import words_of
from objects.packed.provider_uuids import Shares, shares_of_check
from placement.providers.columns import ClassColumns, Mask, Numbers, Rows
from placement.providers.inventory import Inventory
from placement.providers.provider_changes import ChangedProvider, ProviderChanges
from placement.providers.sharing import SHARING_TRAIT, Sharing, find_sharing

SetNumbers = NDArray[np.int32]

_UNKNOWN = -1
_CHUNK_ROWS = 8192  # bounds how much is unpacked at a time
_SPARE_SETS = 1024


class TraitSets:
    """The trait set of each row, computed on demand, and again after a change."""

    def __init__(self) -> None:
        self._set_of: SetNumbers = np.empty(0, np.int32)
        self._sets: list[tuple[str, ...]] = []
        self._numbers: dict[tuple[str, ...], int] = {}

    def __getitem__(self, number: int) -> tuple[str, ...]:
        """Return the sorted names of a set."""
        return self._sets[number]

    def grow(self, rows: int) -> None:
        more = np.full(rows - len(self._set_of), _UNKNOWN, np.int32)
        self._set_of = np.concatenate((self._set_of, more))

    def forget(self, rows: Rows) -> None:
        """Invalidate some rows; drop all sets when most of them must be stale."""
        self._set_of[rows] = _UNKNOWN
        if len(self._sets) > len(self._set_of) + _SPARE_SETS:
            self._set_of[:] = _UNKNOWN
            self._sets.clear()
            self._numbers.clear()

    def numbers_of(self, rows: Rows, traits: Mapping[str, Mask]) -> SetNumbers:
        """Return the set number of each row; ``traits`` has one boolean column per trait."""
        unknown = np.unique(rows[self._set_of[rows] == _UNKNOWN])
        names = sorted(traits)
        for first in range(0, len(unknown), _CHUNK_ROWS):
            chunk = unknown[first : first + _CHUNK_ROWS]
            self._set_of[chunk] = self._work_out(chunk, names, traits)
        return self._set_of[rows]

    def _work_out(self, rows: Rows, names: list[str], traits: Mapping[str, Mask]) -> SetNumbers:
        if not names:
            return np.full(len(rows), self._number(()), np.int32)
        bits = np.packbits(np.stack([traits[name][rows] for name in names]), axis=0)
        packed = np.ascontiguousarray(bits.T).view(np.dtype((np.void, len(bits)))).ravel()
        distinct, inverse = np.unique(packed, return_inverse=True)
        numbers = [self._number(_names(item, names)) for item in distinct]
        return np.array(numbers, np.int32)[inverse]

    def _number(self, names: tuple[str, ...]) -> int:
        if names not in self._numbers:
            self._numbers[names] = len(self._sets)
            self._sets.append(names)
        return self._numbers[names]


def _names(packed: np.void, names: list[str]) -> tuple[str, ...]:
    bits = np.unpackbits(np.frombuffer(packed.tobytes(), np.uint8))[: len(names)]
    return tuple(names[index] for index in np.flatnonzero(bits))


EPOCH_NONE = -1
_ROWS_MIN = 64
_NO_ROW = -1


class ProviderTable:
    """All providers as columns. Not thread-safe: its keeper lends it to one thread at a time.

    Rows are reused. ``root_rows`` is -1 where a row has no provider; ``parent_rows`` is -1 there
    and for roots. ``is_live`` marks the rows of providers with an inventory. ``check_shares`` are
    the providers' contributions to the checksum of an answer. Arrays have ``size`` rows.
    """

    def __init__(self) -> None:
        self.epoch = EPOCH_NONE
        self.uuids: NDArray[np.object_] = np.empty(0, object)
        self.check_shares: Shares = np.empty(0, np.uint64)
        self.ids: Numbers = np.empty(0, np.int64)
        self.root_rows: Rows = np.empty(0, np.intp)
        self.parent_rows: Rows = np.empty(0, np.intp)
        self.is_live: Mask = np.empty(0, np.bool_)
        self.has_trees = False
        self._row_of_id: dict[int, int] = {}
        self._row_of_uuid: dict[str, int] = {}
        self._free: list[int] = []
        self._classes: dict[str, ClassColumns] = {}
        self._traits: dict[str, Mask] = {}
        self._trait_sets = TraitSets()
        self._members: dict[str, set[int]] = {}
        self._member_rows: dict[str, Rows] = {}  # the same as arrays, built on demand
        self._aggregates_of: dict[int, list[str]] = {}
        self._tree_order: Rows | None = None  # built on demand, as is the next
        self._sharing: Sharing | None = None

    @property
    def size(self) -> int:
        """Number of rows, live or not."""
        return len(self.ids)

    @property
    def providers_total(self) -> int:
        """Number of providers, with an inventory or without."""
        return len(self._row_of_id)

    @property
    def is_there(self) -> Mask:
        """Return for each row whether it has a provider, with an inventory or without."""
        there: Mask = self.root_rows >= 0
        return there

    @property
    def tree_order(self) -> Rows:
        """All rows with a provider, grouped by tree, parents before children."""
        if self._tree_order is None:
            self._tree_order = tree_order(self.root_rows, self.parent_rows)
        return self._tree_order

    @property
    def sharing(self) -> Sharing:
        """The sharing providers and the trees that can use them."""
        if self._sharing is None:
            sharers = np.flatnonzero(self.has_trait(SHARING_TRAIT)).tolist()
            self._sharing = find_sharing(
                sharers, self.root_rows, self._aggregates_of, self._members
            )
        return self._sharing

    def row_of(self, provider_uuid: str) -> int | None:
        """Return the row of a provider, or None."""
        return self._row_of_uuid.get(provider_uuid)

    def resource_classes(self) -> Iterable[str]:
        """Return the classes that providers have, or had, inventories of."""
        return self._classes.keys()

    def columns_of(self, name: str) -> ClassColumns:
        """Return the inventories of a class; blank ones if no provider ever had any."""
        return self._classes.get(name) or ClassColumns(self.size)

    def trait_names(self) -> Iterable[str]:
        """Return the traits that providers have, or had."""
        return self._traits.keys()

    def has_trait(self, name: str) -> Mask:
        """Return for each row whether it has the trait."""
        found = self._traits.get(name)
        return found if found is not None else np.zeros(self.size, np.bool_)

    def trait_sets_of(self, rows: Rows) -> SetNumbers:
        """Return the number of each row's trait set: see ``trait_set``."""
        return self._trait_sets.numbers_of(rows, self._traits)

    def trait_set(self, number: int) -> tuple[str, ...]:
        """Return the sorted names of a trait set."""
        return self._trait_sets[number]

    def is_member(self, aggregate: str) -> Mask:
        """Return for each row whether it is in the aggregate."""
        mask = np.zeros(self.size, np.bool_)
        members = self._members.get(aggregate)
        if members:
            if aggregate not in self._member_rows:
                self._member_rows[aggregate] = np.fromiter(members, np.intp, len(members))
            mask[self._member_rows[aggregate]] = True
        return mask

    def aggregates_of(self, row: int) -> list[str]:
        """Return the aggregates of a row, sorted."""
        return sorted(self._aggregates_of.get(row, ()))

    def apply(self, changes: ProviderChanges) -> None:
        """Apply changes; an error in the middle leaves the table unusable."""
        self._drop(changes.gone)
        self._place(changes.providers)
        for name, inventories in changes.inventories.items():
            self._set_inventories(name, inventories)
        for name, usages in changes.usages.items():
            rows = self._rows(provider_id for provider_id, _ in usages)
            self._class(name).used[rows] = [used for _, used in usages]
        for name, providers in changes.traits.items():
            self._trait(name)[self._rows(providers)] = True
        for aggregate, providers in changes.aggregates.items():
            self._add_members(aggregate, providers)
        self.epoch = changes.epoch

    def _drop(self, gone: Iterable[int]) -> None:
        known = [provider_id for provider_id in gone if provider_id in self._row_of_id]
        rows = self._rows(known)
        self._blank(rows)
        self._set_place(rows, np.full(len(rows), _NO_ROW), np.full(len(rows), _NO_ROW))
        for provider_id, row in zip(known, rows.tolist(), strict=True):
            del self._row_of_id[provider_id]
            del self._row_of_uuid[self.uuids[row]]
            self.uuids[row] = None
            self._free.append(row)

    def _place(self, providers: Sequence[ChangedProvider]) -> None:
        known = [item.id for item in providers if item.id in self._row_of_id]
        self._blank(self._rows(known))
        self._make_room(len(providers) - len(known))
        for item in providers:
            row = self._row_of_id.get(item.id)
            if row is None:
                row = self._free.pop()
            self._row_of_id[item.id] = row
            self._row_of_uuid[item.uuid] = row
            self.ids[row] = item.id
            self.uuids[row] = item.uuid
        rows = self._rows(item.id for item in providers)
        words = words_of([item.uuid for item in providers])
        self.check_shares[rows] = shares_of_check(self.ids[rows], words)
        row_of = self._row_of_id
        roots = [row_of[item.root_id] for item in providers]
        parents = [
            _NO_ROW if item.parent_id is None else row_of[item.parent_id] for item in providers
        ]
        self._set_place(rows, np.array(roots, np.intp), np.array(parents, np.intp))

    def _set_place(self, rows: Rows, roots: Rows, parents: Rows) -> None:
        is_same = (self.root_rows[rows] == roots) & (self.parent_rows[rows] == parents)
        if is_same.all():
            return
        self.root_rows[rows] = roots
        self.parent_rows[rows] = parents
        self.has_trees = bool((self.parent_rows != _NO_ROW).any())
        self._tree_order = self._sharing = None

    def _make_room(self, wanted: int) -> None:
        if wanted <= len(self._free):
            return
        old, new = self.size, max(_ROWS_MIN, self.size + wanted, self.size * 3 // 2)
        more = new - old
        self.uuids = np.concatenate((self.uuids, np.full(more, None, object)))
        self.check_shares = np.concatenate((self.check_shares, np.zeros(more, np.uint64)))
        self.ids = np.concatenate((self.ids, np.zeros(more, np.int64)))
        self.root_rows = np.concatenate((self.root_rows, np.full(more, _NO_ROW)))
        self.parent_rows = np.concatenate((self.parent_rows, np.full(more, _NO_ROW)))
        self.is_live = np.concatenate((self.is_live, np.zeros(more, np.bool_)))
        for columns in self._classes.values():
            columns.grow(new)
        for name, mask in self._traits.items():
            self._traits[name] = np.concatenate((mask, np.zeros(more, np.bool_)))
        self._trait_sets.grow(new)
        self._free[:0] = range(new - 1, old - 1, -1)  # popped in ascending order
        self._tree_order = None

    def _blank(self, rows: Rows) -> None:
        if not len(rows):
            return
        self.is_live[rows] = False
        for columns in self._classes.values():
            columns.blank(rows)
        for mask in self._traits.values():
            mask[rows] = False
        self._trait_sets.forget(rows)
        for row in rows.tolist():
            self._leave_aggregates(row)

    def _leave_aggregates(self, row: int) -> None:
        for aggregate in self._aggregates_of.pop(row, ()):
            self._sharing = None
            self._member_rows.pop(aggregate, None)
            self._members[aggregate].remove(row)
            if not self._members[aggregate]:
                del self._members[aggregate]

    def _set_inventories(self, name: str, inventories: list[tuple[int, Inventory]]) -> None:
        rows = self._rows(provider_id for provider_id, _ in inventories)
        self._class(name).set_inventories(rows, [item for _, item in inventories])
        self.is_live[rows] = True

    def _add_members(self, aggregate: str, providers: Iterable[int]) -> None:
        self._sharing = None
        members = self._members.setdefault(aggregate, set())
        self._member_rows.pop(aggregate, None)
        for row in self._rows(providers).tolist():
            members.add(row)
            self._aggregates_of.setdefault(row, []).append(aggregate)

    def _rows(self, provider_ids: Iterable[int]) -> Rows:
        return np.array([self._row_of_id[provider_id] for provider_id in provider_ids], np.intp)

    def _class(self, name: str) -> ClassColumns:
        if name not in self._classes:
            self._classes[name] = ClassColumns(self.size)
        return self._classes[name]

    def _trait(self, name: str) -> Mask:
        if name not in self._traits:
            self._traits[name] = np.zeros(self.size, np.bool_)
        return self._traits[name]


def tree_order(root_rows: Rows, parent_rows: Rows) -> Rows:
    """Return all rows with a provider, grouped by tree, parents before children."""
    depths = np.zeros(len(parent_rows), np.int64)
    above = parent_rows
    while (is_below := above >= 0).any():
        depths += is_below
        above = np.where(is_below, parent_rows[above], -1)
    there = np.flatnonzero(root_rows >= 0)
    order: Rows = there[np.lexsort((there, depths[there], root_rows[there]))]
    return order
