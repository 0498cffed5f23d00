"""The provider table: one row a provider, one column a fact, for answers by array operations.

It is a view of the database as of ``epoch``. It knows no database: what changed is given to
``apply``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from placement.inventory import Inventory

Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
Numbers = NDArray[np.int64]
Ratios = NDArray[np.float64]

EPOCH_NONE = -1
_ROWS_MIN = 64


@dataclass
class ProviderChanges:
    """What a table of an older epoch lacks, to become one of ``epoch``.

    ``providers`` are the id, UUID and root's id of those that are new or have other facts, for
    which all of ``inventories``, ``usages``, ``traits`` and ``aggregates`` are given; ``usages``
    may name others, too.
    """

    epoch: int
    gone: Sequence[int] = ()
    providers: Sequence[tuple[int, str, int]] = ()
    inventories: dict[str, list[tuple[int, Inventory]]] = field(default_factory=dict)
    usages: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    traits: dict[str, list[int]] = field(default_factory=dict)
    aggregates: dict[str, list[int]] = field(default_factory=dict)


class ClassColumns:
    """The inventories of one resource class; a row without one has zero of it and fits nothing."""

    __slots__ = (
        "allocation_ratio",
        "capacity",
        "max_unit",
        "min_unit",
        "reserved",
        "step_size",
        "total",
        "used",
    )

    def __init__(self, rows: int) -> None:
        self.total: Numbers = np.zeros(rows, np.int64)
        self.reserved: Numbers = np.zeros(rows, np.int64)
        self.min_unit: Numbers = np.ones(rows, np.int64)
        self.max_unit: Numbers = np.zeros(rows, np.int64)
        self.step_size: Numbers = np.ones(rows, np.int64)
        self.allocation_ratio: Ratios = np.ones(rows, np.float64)
        self.capacity: Numbers = np.zeros(rows, np.int64)
        self.used: Numbers = np.zeros(rows, np.int64)

    def grow(self, rows: int) -> None:
        """Add blank rows at the end."""
        more = ClassColumns(rows - len(self.total))
        for name in self.__slots__:
            setattr(self, name, np.concatenate((getattr(self, name), getattr(more, name))))

    def blank(self, rows: Rows) -> None:
        """Forget the inventories of some rows."""
        for name in self.__slots__:
            getattr(self, name)[rows] = name in ("min_unit", "step_size", "allocation_ratio")

    def set_inventories(self, rows: Rows, inventories: Sequence[Inventory]) -> None:
        """Write the inventories of some rows, one each."""
        for name in self.__slots__:
            if name != "used":
                getattr(self, name)[rows] = [getattr(item, name) for item in inventories]


class ProviderTable:
    """All providers as columns. Not thread-safe: its keeper lends it to one at a time.

    Rows are reused. ``is_live`` marks those that hold a provider with an inventory; arrays have
    ``size`` rows.
    """

    def __init__(self) -> None:
        self.epoch = EPOCH_NONE
        self.uuids: NDArray[np.object_] = np.empty(0, object)
        self.ids: Numbers = np.empty(0, np.int64)
        self.root_ids: Numbers = np.empty(0, np.int64)
        self.is_live: Mask = np.empty(0, np.bool_)
        self._row_of_id: dict[int, int] = {}
        self._row_of_uuid: dict[str, int] = {}
        self._free: list[int] = []
        self._classes: dict[str, ClassColumns] = {}
        self._traits: dict[str, Mask] = {}
        self._members: dict[str, set[int]] = {}
        self._member_rows: dict[str, Rows] = {}  # the same as arrays, made when asked for
        self._aggregates_of: dict[int, list[str]] = {}

    @property
    def size(self) -> int:
        """The number of rows, live or not."""
        return len(self.ids)

    @property
    def providers_total(self) -> int:
        """How many providers there are, with an inventory or without."""
        return len(self._row_of_id)

    def row_of(self, provider_uuid: str) -> int | None:
        """Return the row of a provider, or None."""
        return self._row_of_uuid.get(provider_uuid)

    def resource_classes(self) -> Iterable[str]:
        """Return the classes that some provider has, or had, an inventory of."""
        return self._classes.keys()

    def columns_of(self, name: str) -> ClassColumns:
        """Return the inventories of a class; blank ones when no provider ever had it."""
        return self._classes.get(name) or ClassColumns(self.size)

    def has_trait(self, name: str) -> Mask:
        """Tell for each row whether it has the trait."""
        found = self._traits.get(name)
        return found if found is not None else np.zeros(self.size, np.bool_)

    def is_member(self, aggregate: str) -> Mask:
        """Tell for each row whether it is in the aggregate."""
        mask = np.zeros(self.size, np.bool_)
        members = self._members.get(aggregate)
        if members:
            if aggregate not in self._member_rows:
                self._member_rows[aggregate] = np.fromiter(members, np.intp, len(members))
            mask[self._member_rows[aggregate]] = True
        return mask

    def apply(self, changes: ProviderChanges) -> None:
        """Take over what changed; an error in the middle leaves the table unusable."""
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
        for provider_id, row in zip(known, rows.tolist(), strict=True):
            del self._row_of_id[provider_id]
            del self._row_of_uuid[self.uuids[row]]
            self.uuids[row] = None
            self._free.append(row)

    def _place(self, providers: Sequence[tuple[int, str, int]]) -> None:
        known = [item[0] for item in providers if item[0] in self._row_of_id]
        self._blank(self._rows(known))
        self._make_room(len(providers) - len(known))
        for provider_id, uuid, root_id in providers:
            row = self._row_of_id.get(provider_id)
            if row is None:
                row = self._free.pop()
            self._row_of_id[provider_id] = row
            self._row_of_uuid[uuid] = row
            self.ids[row] = provider_id
            self.uuids[row] = uuid
            self.root_ids[row] = root_id

    def _make_room(self, wanted: int) -> None:
        if wanted <= len(self._free):
            return
        old, new = self.size, max(_ROWS_MIN, self.size + wanted, self.size * 3 // 2)
        self.uuids = np.concatenate((self.uuids, np.full(new - old, None, object)))
        self.ids = np.concatenate((self.ids, np.zeros(new - old, np.int64)))
        self.root_ids = np.concatenate((self.root_ids, np.zeros(new - old, np.int64)))
        self.is_live = np.concatenate((self.is_live, np.zeros(new - old, np.bool_)))
        for columns in self._classes.values():
            columns.grow(new)
        for name, mask in self._traits.items():
            self._traits[name] = np.concatenate((mask, np.zeros(new - old, np.bool_)))
        self._free[:0] = range(new - 1, old - 1, -1)  # popped in ascending order

    def _blank(self, rows: Rows) -> None:
        if not len(rows):
            return
        self.is_live[rows] = False
        for columns in self._classes.values():
            columns.blank(rows)
        for mask in self._traits.values():
            mask[rows] = False
        for row in rows.tolist():
            for aggregate in self._aggregates_of.pop(row, ()):
                self._member_rows.pop(aggregate, None)
                self._members[aggregate].remove(row)
                if not self._members[aggregate]:
                    del self._members[aggregate]

    def _set_inventories(self, name: str, inventories: list[tuple[int, Inventory]]) -> None:
        rows = self._rows(provider_id for provider_id, _ in inventories)
        self._class(name).set_inventories(rows, [item for _, item in inventories])
        self.is_live[rows] = True

    def _add_members(self, aggregate: str, providers: Iterable[int]) -> None:
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
