"""Numbers that plugins derive from structured host reports, cached per report.

Inspecting a dict or list of each host takes milliseconds for ten thousand hosts. Results are
therefore cached by row, and recomputed only when a different object is reported. Snapshot columns
are never modified: their values are replaced, not changed in place.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from scheduler.hosts.host_table import HostTable, Mask, Numbers
from scheduler.hosts.usage import Positions

_NEVER = -1
_SPARE = 1024


class Derived:
    """A number derived from each host's value, or an array of the given ``shape``.

    ``derive`` maps one value to a number. It is called when a host is first read and after its
    report changed. ``Reports.numbers`` passes on its exceptions.
    """

    def __init__(
        self, derive: Callable[[Any], Any], *, dtype: type = np.float64, shape: tuple[int, ...] = ()
    ) -> None:
        self._derive = derive
        self._numbers: Numbers = np.zeros((*shape, 0), dtype)  # rows on the last axis
        self._made_at = np.zeros(0, np.int64)

    def read(self, rows: Positions, values: Sequence[Any], changed_at: Numbers) -> Numbers:
        """Return the numbers of some rows; ``changed_at`` is when each row's value last changed."""
        self._make_room_for(len(values))
        stale = rows[self._made_at[rows] < changed_at[rows]]
        for row in stale.tolist():
            self._numbers[..., row] = self._derive(values[row])
        self._made_at[stale] = changed_at[stale]
        found: Numbers = self._numbers.take(rows, axis=-1)
        return found

    def of_value(self, value: Any) -> Any:
        """Return the number derived from one value, without caching."""
        return self._derive(value)

    def _make_room_for(self, count: int) -> None:
        more = count - len(self._made_at)
        if more > 0:
            room = np.zeros((*self._numbers.shape[:-1], more), self._numbers.dtype)
            self._numbers = np.concatenate((self._numbers, room), axis=-1)
            self._made_at = np.concatenate((self._made_at, np.full(more, _NEVER)))


class Reports:
    """The last seen values of one list attribute of all hosts. Thread-safe.

    A ``Derived`` must always be read through the same ``Reports``.
    """

    def __init__(self, attribute: str) -> None:
        self._attribute = attribute
        self._lock = threading.Lock()
        self._values: Sequence[Any] = ()
        self._changed_at = np.zeros(0, np.int64)
        self._changes = 0

    def numbers(self, hosts: HostTable, derived: Derived) -> Numbers:
        """Return the number derived from each host's value, including this request's selections.

        The last axis is that of the hosts.
        """
        with self._lock:
            self._look_at(hosts.snapshot.columns[self._attribute])  # type: ignore[arg-type]
            values = self._values
            found = derived.read(hosts.rows, values, self._changed_at)
            for position in hosts.touched:
                value = hosts.value(self._attribute, position)
                if value is not values[hosts.rows[position]]:
                    found[..., position] = derived.of_value(value)
        return found

    def _look_at(self, values: Sequence[Any]) -> None:
        """Record which rows hold a different object than before."""
        former = self._values
        if values is former:
            return
        self._changes += 1
        changed_at = np.full(len(values), self._changes)
        shared = min(len(values), len(former))
        is_other = np.fromiter(map(operator.is_not, values, former), np.bool_, shared)
        changed_at[:shared] = np.where(is_other, self._changes, self._changed_at[:shared])
        self._values, self._changed_at = values, changed_at


class HostClasses:
    """Classifies hosts by a reported value; each class has a number.

    ``kind_of`` returns the class of one value. Classes without hosts are eventually dropped.
    Thread-safe.
    """

    def __init__(self, attribute: str, kind_of: Callable[[Any], Hashable]) -> None:
        self._attribute = attribute
        self._kind_of = kind_of
        self._reports = Reports(attribute)
        self._state = self._begun()

    def read(self, hosts: HostTable) -> tuple[Numbers, Mapping[Hashable, int]]:
        """Return the class number of each host, and the number of each class."""
        derived, numbers = self._state
        if len(numbers) > 2 * len(hosts.snapshot.columns[self._attribute]) + _SPARE:
            derived, numbers = self._state = self._begun()
        return self._reports.numbers(hosts, derived), numbers

    def _begun(self) -> tuple[Derived, dict[Hashable, int]]:
        numbers: dict[Hashable, int] = {}

        def number_of(value: Any) -> int:
            return numbers.setdefault(self._kind_of(value), len(numbers))

        return Derived(number_of, dtype=np.int64), numbers


def once_per_class(kinds: Numbers, is_so: Callable[[int], bool]) -> Mask:
    """Evaluate a predicate on positions, once per class."""
    _kinds, firsts, where = np.unique(kinds, return_index=True, return_inverse=True)
    answers = np.array([is_so(position) for position in firsts.tolist()], np.bool_)
    mask: Mask = answers[where]
    return mask
