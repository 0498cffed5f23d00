"""Numbers that plugins make of what hosts report as JSON: made once for each report, not request.

A plugin that has to look into a dict or list of each host takes milliseconds for ten thousand. So
it keeps what it found, row by row of the fleet, and looks again where another object was reported:
columns of a snapshot are never written to, and their values are replaced, never changed in place.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from scheduler.host_table import HostTable, Mask, Numbers
from scheduler.usage import Positions

_NEVER = -1
_SPARE = 1024


class Derived:
    """What is made of each host's value: a number, or several with a ``shape``.

    ``derive`` answers for one value. It is called when a host is asked about for the first time,
    and after it reported something else; what it raises comes out of ``Reports.numbers``.
    """

    def __init__(
        self,
        derive: Callable[[Any], Any],
        *,
        dtype: type = np.float64,
        shape: tuple[int, ...] = (),
    ) -> None:
        self._derive = derive
        self._numbers: Numbers = np.zeros((*shape, 0), dtype)  # rows last: each number is a column
        self._made_at = np.zeros(0, np.int64)

    def read(self, rows: Positions, values: Sequence[Any], changed_at: Numbers) -> Numbers:
        """Return the numbers of some rows; ``changed_at`` tells when each got its value."""
        self._make_room_for(len(values))
        stale = rows[self._made_at[rows] < changed_at[rows]]
        for row in stale.tolist():
            self._numbers[..., row] = self._derive(values[row])
        self._made_at[stale] = changed_at[stale]
        found: Numbers = self._numbers.take(rows, axis=-1)
        return found

    def of_value(self, value: Any) -> Any:
        """Return what is made of one value, which is not kept."""
        return self._derive(value)

    def _make_room_for(self, count: int) -> None:
        more = count - len(self._made_at)
        if more > 0:
            room = np.zeros((*self._numbers.shape[:-1], more), self._numbers.dtype)
            self._numbers = np.concatenate((self._numbers, room), axis=-1)
            self._made_at = np.concatenate((self._made_at, np.full(more, _NEVER)))


class Reports:
    """One attribute, a list of objects, as it was last seen of all hosts. Thread-safe.

    What is derived from one ``Reports`` is read with this one only.
    """

    def __init__(self, attribute: str) -> None:
        self._attribute = attribute
        self._lock = threading.Lock()
        self._values: Sequence[Any] = ()
        self._changed_at = np.zeros(0, np.int64)
        self._changes = 0

    def numbers(self, hosts: HostTable, derived: Derived) -> Numbers:
        """Return what is derived from each host's value, as its instances chosen so far left it.

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
        """Note which rows have another object than before."""
        former = self._values
        if values is former:
            return
        self._changes += 1
        changed_at = np.full(len(values), self._changes)
        shared = min(len(values), len(former))
        is_other = np.fromiter(map(operator.is_not, values, former), np.bool_, shared)
        changed_at[:shared] = np.where(is_other, self._changes, self._changed_at[:shared])
        self._values, self._changed_at = values, changed_at


class Kinds:
    """What hosts report, sorted into kinds: each has a number, and hosts of a kind are alike.

    ``kind_of`` answers for one value. Kinds that no host is of any more are forgotten in time.
    Thread-safe.
    """

    def __init__(self, attribute: str, kind_of: Callable[[Any], Hashable]) -> None:
        self._attribute = attribute
        self._kind_of = kind_of
        self._reports = Reports(attribute)
        self._state = self._begun()

    def read(self, hosts: HostTable) -> tuple[Numbers, Mapping[Hashable, int]]:
        """Return the number of each host's kind, and the number that each kind has."""
        derived, numbers = self._state
        if len(numbers) > 2 * len(hosts.snapshot.columns[self._attribute]) + _SPARE:
            derived, numbers = self._state = self._begun()
        return self._reports.numbers(hosts, derived), numbers

    def _begun(self) -> tuple[Derived, dict[Hashable, int]]:
        numbers: dict[Hashable, int] = {}

        def number_of(value: Any) -> int:
            return numbers.setdefault(self._kind_of(value), len(numbers))

        return Derived(number_of, dtype=np.int64), numbers


def once_per_kind(kinds: Numbers, is_so: Callable[[int], bool]) -> Mask:
    """Answer a question about positions, asking only about one position of each kind."""
    _kinds, firsts, where = np.unique(kinds, return_index=True, return_inverse=True)
    answers = np.array([is_so(position) for position in firsts.tolist()], np.bool_)
    mask: Mask = answers[where]
    return mask
