"""Compact storage of instance UUIDs, in a fifth of the memory of strings."""

import uuid
from collections.abc import Collection, Iterator, Sequence
from typing import overload

import numpy as np

_SIZE = 16


class PackedUUIDs(Sequence[str]):
    """An immutable sequence of UUIDs in canonical form."""

    __slots__ = ("_raw",)

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    @classmethod
    def of(cls, uuids: Sequence[str]) -> Sequence[str]:
        """Return the UUIDs packed, or unchanged if one of them is not in canonical form."""
        try:
            made = cls(bytes.fromhex("".join(uuids).replace("-", "")))
        except ValueError:
            return uuids
        return made if list(made) == list(uuids) else uuids

    @property
    def raw(self) -> bytes:
        """The packed bytes, 16 per UUID."""
        return self._raw

    def __len__(self) -> int:
        return len(self._raw) // _SIZE

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return list(self)[index]
        start = range(len(self))[index] * _SIZE
        return _written(self._raw[start : start + _SIZE].hex())

    def __iter__(self) -> Iterator[str]:
        digits = self._raw.hex()
        return (_written(digits[at : at + 32]) for at in range(0, len(digits), 32))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PackedUUIDs):
            return self._raw == other._raw
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(self._raw)

    def __repr__(self) -> str:
        return repr(list(self))


def which_have_any(lists: Sequence[Sequence[str] | None], wanted: Collection[str]) -> list[int]:
    """Return the indexes of the lists that may contain one of these UUIDs.

    No list that contains one is missing. Packed lists are searched together.
    """
    packed = [
        (index, each.raw) for index, each in enumerate(lists) if isinstance(each, PackedUUIDs)
    ]
    found = [
        index
        for index, each in enumerate(lists)
        if each and not isinstance(each, PackedUUIDs) and not set(wanted).isdisjoint(each)
    ]
    if packed:
        owners = np.repeat(
            np.array([index for index, _ in packed]),
            np.array([len(raw) // _SIZE for _, raw in packed]),
        )
        halves = np.frombuffer(b"".join(raw for _, raw in packed), np.uint64).reshape(-1, 2)
        sought = np.frombuffer(b"".join(filter(None, map(_bytes_of, wanted))), np.uint64)
        is_in = np.isin(halves[:, 1], sought.reshape(-1, 2)[:, 1])
        found += np.unique(owners[is_in]).tolist()
    return sorted(found)


def _bytes_of(text: str) -> bytes | None:
    try:
        return uuid.UUID(text).bytes
    except ValueError:
        return None


def _written(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
