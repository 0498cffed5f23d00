"""Lookup of host store rows by placement's numeric provider ids."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from objects.packed.provider_uuids import Ids
from scheduler.hosts.usage import Positions

_ID_MAX = 50_000_000  # the array takes 8 bytes per id; greater ids are looked up by UUID
_UNSEEN = -2
_UNKNOWN = -1


@dataclasses.dataclass(frozen=True, slots=True)
class NamedIds:
    """Placement's ids; comparable only between answers with the same ``meaning`` object."""

    ids: Ids
    meaning: object


class RowsById:
    """Caches rows by id, so that many ids are looked up in one array operation. Not thread-safe.

    The cache is cleared when the ids change their meaning, or hosts were added, removed or moved.
    """

    def __init__(self) -> None:
        self._meaning: object = None
        self._version = -1
        self._rows: Positions = np.empty(0, np.int64)

    def look_up(
        self, named: NamedIds | None, uuids: Sequence[str], row_of: Mapping[str, int], version: int
    ) -> Positions:
        """Return the row of each provider, -1 for a provider that is not a known host.

        ``named`` are the ids of the same providers as ``uuids``; ``version`` changes whenever
        ``row_of`` does.
        """
        if named is None or not len(uuids) or int(named.ids.max()) > _ID_MAX:
            return _looked_up(uuids, row_of)
        if self._meaning is not named.meaning or self._version != version:
            self._meaning, self._version = named.meaning, version
            self._rows = np.empty(0, np.int64)
        self._make_room_for(int(named.ids.max()))
        rows: Positions = self._rows[named.ids]
        unseen = np.flatnonzero(rows == _UNSEEN)
        if len(unseen):
            news = uuids if len(unseen) == len(uuids) else [uuids[at] for at in unseen.tolist()]
            rows[unseen] = self._rows[named.ids[unseen]] = _looked_up(news, row_of)
        return rows

    def _make_room_for(self, greatest: int) -> None:
        if greatest >= len(self._rows):
            more = np.full(greatest + 1 + greatest // 8 - len(self._rows), _UNSEEN, np.int64)
            self._rows = np.concatenate((self._rows, more))


def _looked_up(uuids: Sequence[str], row_of: Mapping[str, int]) -> Positions:
    return np.fromiter((row_of.get(uuid, _UNKNOWN) for uuid in uuids), np.int64, len(uuids))
