"""ProviderUUIDs, and a client's cache of provider UUIDs.

UUIDs would be most of an answer of ten thousand candidates, and are hardly ever new. So answers
identify providers by the ids of placement's database, and a client asks once for the UUIDs of
unknown ids. An answer has a checksum of the mapping, since a restored database may assign an id to
another provider.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from objects import base, fields
from objects.allocations.allocation_candidates import AllocationCandidates
from objects.packed.packing import Words, words_of

Ids = NDArray[np.int64]
Shares = NDArray[np.uint64]

PROVIDERS_MAX = 1_000_000
"""Maximum number of cached providers, about 150 bytes each; the cache is cleared beyond it."""

RECENT_MAX = 4
"""Number of recent UUID lists kept, 16 bytes per provider each."""

_ROLES = ("provider", "slot")
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@base.ArmillaryObjectRegistry.register
class ProviderUUIDs(base.ArmillaryObject):
    """Ids and UUIDs of providers, in the same order; deleted providers are left out."""

    ids: Ids = fields.PackedColumnField()
    uuids: list[str] = fields.UUIDColumnField(default=[])


def check_of(ids: Ids, words: Words) -> str:
    """Return a checksum of the mapping of ids to UUIDs, independent of order."""
    return check_of_shares(shares_of_check(ids, words))


def shares_of_check(ids: Ids, words: Words) -> Shares:
    """Return each provider's part of the checksum; placement stores it with its providers."""
    mixed = words[:, 0] ^ (words[:, 1] * _MULTIPLIER)
    shares: Shares = mixed * (ids.astype(np.uint64) * np.uint64(2) + np.uint64(1))
    return shares


def check_of_shares(shares: Shares) -> str:
    """Return the checksum of the providers with these parts."""
    return f"{int(shares.sum(dtype=np.uint64)):016x}"


def complete(
    found: AllocationCandidates, book: UUIDCache, ask: Callable[[Ids], ProviderUUIDs]
) -> bool:
    """Replace an answer's ids by UUIDs; ``ask`` fetches those that are not cached.

    The hosts' ids are kept, for caches by id (``id_mapping``). Returns False if that fails,
    because a provider was deleted or the cache is wrong; the cache is cleared then.
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
    found.restore_uuids(_of_roles(ids_of, named[0]))
    found.id_mapping = meaning
    return True


def _of_roles(ids_of: dict[str, Ids], uuids: list[str]) -> dict[str, list[str]]:
    if len(ids_of) == 1:
        return dict.fromkeys(ids_of, uuids)
    ends = np.cumsum([len(part) for part in ids_of.values()]).tolist()
    return {
        role: uuids[end - len(part) : end]
        for (role, part), end in zip(ids_of.items(), ends, strict=True)
    }


class _CachedIds:
    """Ids in ascending order with their UUIDs, and recent lookups."""

    def __init__(self, ids: Ids, words: Words, uuids: NDArray[np.object_]) -> None:
        self.ids, self.words, self.uuids = ids, words, uuids
        self._recent: tuple[tuple[Ids, list[str], str], ...] = ()

    def find(self, ids: Ids) -> tuple[list[str], str] | None:
        """Return the UUIDs of these ids and their checksum, or None if one is unknown."""
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


def _no_pages() -> _CachedIds:
    return _CachedIds(np.empty(0, np.int64), np.empty((0, 2), np.uint64), np.empty(0, object))


class UUIDCache:
    """A client's cache of UUIDs. Thread-safe.

    Most answers have the same providers as a recent one; these lookups are fast.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages = _no_pages()
        self.meaning = object()
        """Changes whenever ids may stand for other providers than before."""

    def find(self, ids: Ids) -> tuple[list[str], str] | None:
        """Return the UUIDs of these ids and their checksum, or None if one is unknown.

        Neither the list nor ``ids`` may be changed: later lookups return the same list.
        """
        return self._pages.find(ids)

    def unknown(self, ids: Ids) -> Ids:
        """Return the ids that are not cached."""
        return ids[~np.isin(ids, self._pages.ids)]

    def learn(self, ids: Ids, uuids: Sequence[str]) -> None:
        """Add UUIDs to the cache; known ids keep theirs."""
        texts = np.empty(len(uuids), object)
        texts[:] = uuids
        with self._lock:
            if len(self._pages.ids) + len(ids) > PROVIDERS_MAX:
                self.forget()
            known = self._pages
            unique, first = np.unique(np.concatenate((known.ids, ids)), return_index=True)
            self._pages = _CachedIds(
                unique,
                np.concatenate((known.words, words_of(uuids)))[first],
                np.concatenate((known.uuids, texts))[first],
            )

    def forget(self) -> None:
        """Clear the cache."""
        self._pages = _no_pages()
        self.meaning = object()
