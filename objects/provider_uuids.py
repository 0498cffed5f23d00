"""ProviderUUIDs, and the book in which a client of placement keeps them.

The UUIDs are most of what an answer of ten thousand candidates would weigh, and hardly ever new.
So answers name providers by the ids of placement's database, and a client asks once for the UUIDs
of ids that it does not know. An answer carries a checksum of what it means: a database that was
set back may give an id to somebody else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from objects import base, fields
from objects.allocation_candidates import AllocationCandidates
from objects.packing import Words, words_of

Ids = NDArray[np.int64]

PROVIDERS_MAX = 1_000_000
"""What a book holds at most, some 150 bytes each; then it begins anew."""

_ROLES = ("provider", "slot")
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@base.ArmillaryObjectRegistry.register
class ProviderUUIDs(base.ArmillaryObject):
    """Providers by id and UUID, in the same order; those that are gone are left out."""

    VERSION = "1.0"

    fields = {
        "ids": fields.PackedColumnField(),
        "uuids": fields.UUIDColumnField(default=[]),
    }

    ids: Ids
    uuids: list[str]


def check_of(ids: Ids, words: Words) -> str:
    """Return a checksum of which id means which UUID, whatever the order."""
    mixed = words[:, 0] ^ (words[:, 1] * _MULTIPLIER)
    total = (mixed * (ids.astype(np.uint64) * np.uint64(2) + np.uint64(1))).sum(dtype=np.uint64)
    return f"{int(total):016x}"


def complete(
    found: AllocationCandidates, book: UUIDBook, ask: Callable[[Ids], ProviderUUIDs]
) -> bool:
    """Put UUIDs in the place of an answer's ids; ``ask`` is for those that are not in the book.

    The hosts' ids stay, for whoever keeps something by id (``meaning_of_ids``). Return False when
    that cannot be done: a provider has gone meanwhile, or the book is wrong. Then it is forgotten.
    """
    roles = [role for role in _ROLES if getattr(found, f"{role}_ids") is not None]
    if not roles:
        return True
    ids_of = {role: getattr(found, f"{role}_ids") for role in roles}
    ids = np.concatenate(list(ids_of.values()))
    meaning = book.meaning
    named = book.find(ids)
    if named is None:
        page = ask(book.unknown(ids))
        book.learn(page.ids, page.uuids)
        named = book.find(ids)
    if named is None or named[1] != found.provider_check:
        book.forget()
        return False
    start = 0
    for role, part in ids_of.items():
        setattr(found, f"{role}_uuids", named[0][start : start + len(part)])
        start += len(part)
    found.slot_ids = found.provider_check = None
    found.meaning_of_ids = meaning
    found.obj_reset_changes()
    return True


_BLANK: tuple[Ids, Words, NDArray[np.object_]] = (
    np.empty(0, np.int64),
    np.empty((0, 2), np.uint64),
    np.empty(0, object),
)


class UUIDBook:
    """The UUIDs that a client learnt. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages = _BLANK
        self.meaning = object()
        """Another one whenever ids may mean somebody else than before."""

    def find(self, ids: Ids) -> tuple[list[str], str] | None:
        """Return the UUIDs of these ids and their checksum, or None when one is unknown."""
        known, words, uuids = self._pages
        if not len(ids):
            return [], check_of(ids, words[:0])
        if not len(known):
            return None
        if np.array_equal(known, ids):  # all there are, as in many an answer
            return uuids.tolist(), check_of(ids, words)
        places = np.searchsorted(known, ids)
        places[places == len(known)] = 0
        if not np.array_equal(known[places], ids):
            return None
        return uuids[places].tolist(), check_of(ids, words[places])

    def unknown(self, ids: Ids) -> Ids:
        """Return those of the ids that are not in the book."""
        return ids[~np.isin(ids, self._pages[0])]

    def learn(self, ids: Ids, uuids: Sequence[str]) -> None:
        """Write down what was unknown; an id that is in the book keeps its UUID."""
        texts = np.empty(len(uuids), object)
        texts[:] = uuids
        with self._lock:
            if len(self._pages[0]) + len(ids) > PROVIDERS_MAX:
                self.forget()
            known, words, others = self._pages
            joined = np.concatenate((known, ids))
            unique, first = np.unique(joined, return_index=True)
            self._pages = (
                unique,
                np.concatenate((words, words_of(uuids)))[first],
                np.concatenate((others, texts))[first],
            )

    def forget(self) -> None:
        """Begin anew."""
        self._pages = _BLANK
        self.meaning = object()
