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
Shares = NDArray[np.uint64]

PROVIDERS_MAX = 1_000_000
"""What a book holds at most, some 150 bytes each; then it begins anew."""

RECENT_MAX = 4
"""So many lists of UUIDs are kept as they were found; 8 bytes and an id a provider each."""

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
    return check_of_shares(shares_of_check(ids, words))


def shares_of_check(ids: Ids, words: Words) -> Shares:
    """Return what each provider adds to the checksum; placement keeps it beside its providers."""
    mixed = words[:, 0] ^ (words[:, 1] * _MULTIPLIER)
    shares: Shares = mixed * (ids.astype(np.uint64) * np.uint64(2) + np.uint64(1))
    return shares


def check_of_shares(shares: Shares) -> str:
    """Return the checksum of the providers that have these shares."""
    return f"{int(shares.sum(dtype=np.uint64)):016x}"


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
    ids = next(iter(ids_of.values())) if len(roles) == 1 else np.concatenate([*ids_of.values()])
    meaning = book.meaning
    named = book.find(ids)
    if named is None:
        page = ask(book.unknown(ids))
        book.learn(page.ids, page.uuids)
        named = book.find(ids)
    if named is None or named[1] != found.provider_check:
        book.forget()
        return False
    found.put_uuids(_of_roles(ids_of, named[0]))
    found.meaning_of_ids = meaning
    return True


def _of_roles(ids_of: dict[str, Ids], uuids: list[str]) -> dict[str, list[str]]:
    if len(ids_of) == 1:
        return dict.fromkeys(ids_of, uuids)
    ends = np.cumsum([len(part) for part in ids_of.values()]).tolist()
    return {
        role: uuids[end - len(part) : end]
        for (role, part), end in zip(ids_of.items(), ends, strict=True)
    }


class _Pages:
    """Some ids in ascending order, with their UUIDs; and what was found in them last."""

    def __init__(self, ids: Ids, words: Words, uuids: NDArray[np.object_]) -> None:
        self.ids, self.words, self.uuids = ids, words, uuids
        self._recent: tuple[tuple[Ids, list[str], str], ...] = ()

    def find(self, ids: Ids) -> tuple[list[str], str] | None:
        """Return the UUIDs of these ids and their checksum, or None when one is unknown."""
        for asked, uuids, check in self._recent:
            if np.array_equal(asked, ids):
                return uuids, check
        places = np.searchsorted(self.ids, ids)
        places[places == len(self.ids)] = 0
        if len(ids) and not (len(self.ids) and np.array_equal(self.ids[places], ids)):
            return None
        found = self.uuids[places].tolist(), check_of(ids, self.words[places])
        self._recent = ((ids, *found), *self._recent[: RECENT_MAX - 1])
        return found


def _no_pages() -> _Pages:
    return _Pages(np.empty(0, np.int64), np.empty((0, 2), np.uint64), np.empty(0, object))


class UUIDBook:
    """The UUIDs that a client learnt. Thread-safe.

    Most answers name the providers that one of the last few named: these are found at once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages = _no_pages()
        self.meaning = object()
        """Another one whenever ids may mean somebody else than before."""

    def find(self, ids: Ids) -> tuple[list[str], str] | None:
        """Return the UUIDs of these ids and their checksum, or None when one is unknown.

        Neither the list nor ``ids`` may be changed: the next one who asks the same gets the list.
        """
        return self._pages.find(ids)

    def unknown(self, ids: Ids) -> Ids:
        """Return those of the ids that are not in the book."""
        return ids[~np.isin(ids, self._pages.ids)]

    def learn(self, ids: Ids, uuids: Sequence[str]) -> None:
        """Write down what was unknown; an id that is in the book keeps its UUID."""
        texts = np.empty(len(uuids), object)
        texts[:] = uuids
        with self._lock:
            if len(self._pages.ids) + len(ids) > PROVIDERS_MAX:
                self.forget()
            known = self._pages
            unique, first = np.unique(np.concatenate((known.ids, ids)), return_index=True)
            self._pages = _Pages(
                unique,
                np.concatenate((known.words, words_of(uuids)))[first],
                np.concatenate((known.uuids, texts))[first],
            )

    def forget(self) -> None:
        """Begin anew."""
        self._pages = _no_pages()
        self.meaning = object()
