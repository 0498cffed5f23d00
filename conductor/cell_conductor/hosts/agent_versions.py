"""Service versions of this cell's agents, cached for a short time."""

import threading
from collections.abc import Mapping

from armillary.db import Database
from armillary.service_history import CURRENT_VERSION
from conductor.common.cell_db import services
from conductor.common.clock import Clock

CACHE_SECONDS = 10.0
"""Seconds after which versions reported to other conductors of the cell are read, too."""


class AgentVersions:
    """Service versions by agent. ``monotonic`` is a monotonic clock."""

    def __init__(self, database: Database, *, monotonic: Clock) -> None:
        self._database = database
        self._monotonic = monotonic
        self._guard = threading.Lock()
        self._versions: Mapping[str, int] = {}
        self._read_at: float | None = None

    def of(self, agent: str | None) -> int:
        """Return the oldest service version of an agent's hosts; 0 for an unknown agent.

        For None, returns the version of the oldest agent. An outdated agent is read from the
        database each time: it may have been upgraded and have reported that to another conductor.
        """
        versions = self._current()
        if agent is None:
            return min(versions.values(), default=0)
        known = versions.get(agent, 0)
        if known >= CURRENT_VERSION:
            return known
        with self._database.reader() as session:
            return services.version_of_agent(session, agent) or 0

    def forget(self) -> None:
        """Invalidate the cache, because an agent reported a new version."""
        with self._guard:
            self._read_at = None

    def _current(self) -> Mapping[str, int]:
        with self._guard:
            is_fresh = (
                self._read_at is not None and self._monotonic() - self._read_at < CACHE_SECONDS
            )
            if is_fresh:
                return self._versions
            self._read_at = self._monotonic()
        found = self._database.read(services.versions_of_agents)
        with self._guard:
            self._versions = found
        return found
