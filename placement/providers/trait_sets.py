"""Interned trait sets: a fleet has few distinct ones, and every provider has one."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from placement.providers.columns import Mask, Rows

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
