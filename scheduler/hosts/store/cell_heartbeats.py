"""Heartbeats of cells: when each was last heard from, which count as down, which are in doubt."""

import math
import threading
from collections.abc import Callable, Collection

from oslo_config import cfg


class CellHeartbeats:
    """When each cell was last heard from. Thread-safe.

    Whatever a cell sends is a heartbeat. After ``service_down_time`` without one its hosts count as
    down.
    """

    def __init__(self, conf: cfg.ConfigOpts, *, clock: Callable[[], float]) -> None:
        self._conf = conf
        self._clock = clock
        self._lock = threading.Lock()
        self._heard_at: dict[str, float] = {}  # by cell UUID
        self._heard_any_at = self._cut_off_until = clock()

    def note(self, cell_uuid: str) -> None:
        """Record that a cell was heard from."""
        with self._lock:
            now = self._heard_at[cell_uuid] = self._clock()
            if now - self._heard_any_at >= self._cut_off_seconds:
                self._cut_off_until = now
            self._heard_any_at = now

    def assume(self, cell_uuid: str) -> None:
        """Count a cell that was never heard from as up for ``service_down_time``."""
        with self._lock:
            self._heard_at.setdefault(cell_uuid, self._clock())

    def forget(self, cell_uuid: str) -> None:
        """Drop a cell that was removed."""
        with self._lock:
            self._heard_at.pop(cell_uuid, None)

    def is_up(self, cell_uuid: str) -> bool:
        """Return whether a cell was heard from within ``service_down_time``."""
        heard_at = self._heard_at.get(cell_uuid)
        return heard_at is not None and self._clock() - heard_at < self._conf.service_down_time

    def silent(self, cell_uuids: Collection[str], seconds: float) -> list[str]:
        """Return those of these cells that were not heard from for that many seconds, or ever."""
        with self._lock:
            since = self._clock() - seconds
            return sorted(
                uuid for uuid in cell_uuids if self._heard_at.get(uuid, -math.inf) < since
            )

    def in_doubt(self, cell_uuids: Collection[str]) -> dict[str, float]:
        """Return the times of the last messages of cells that count as down, but may not be.

        No cell was heard from for so long that this process was probably cut off itself, and these
        have not been heard from since.
        """
        with self._lock:
            now = self._clock()
            silent_since = self._cut_off_until
            if now - self._heard_any_at >= self._cut_off_seconds:
                silent_since = now
            return {
                uuid: heard_at
                for uuid, heard_at in self._heard_at.items()
                if heard_at < silent_since and uuid in cell_uuids and not self.is_up(uuid)
            }

    @property
    def _cut_off_seconds(self) -> float:
        """Seconds without a heartbeat of any cell after which this process counts as cut off.

        Less than a cell's, since another one may have been the last one heard from.
        """
        seconds: float = self._conf.service_down_time / 2
        return seconds
