"""Where hosts are in the fleet's table, by the ids that placement knows them by."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from objects.provider_uuids import Ids
from scheduler.usage import Positions

_ID_MAX = 50_000_000  # 8 bytes for each id up to the greatest; beyond that, UUIDs are looked up
_UNSEEN = -2
_UNKNOWN = -1


@dataclasses.dataclass(frozen=True, slots=True)
class NamedIds:
    """Placement's ids; equal ids mean the same provider as long as ``meaning`` is the same one."""

    ids: Ids
    meaning: object


class RowsById:
    """Remembers rows, so that looking many up is one array operation. Not thread-safe.

    It begins anew when ids mean something else, or hosts came, went, or moved.
    """

    def __init__(self) -> None:
        self._meaning: object = None
        self._version = -1
        self._rows: Positions = np.empty(0, np.int64)

    def find(
        self,
        named: NamedIds | None,
        uuids: Sequence[str],
        row_of: Mapping[str, int],
        version: int,
    ) -> Positions:
        """Return the row of each provider, -1 for one that is no host here.

        ``named`` are ids of the same providers as ``uuids``; ``version`` is another one whenever
        ``row_of`` changed.
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
