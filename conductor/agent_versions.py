"""Which version each agent of this cell is of, as its reports say; read again every so often."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from armillary.db import Database
from armillary.service_history import CURRENT_VERSION
from conductor.cell_db import services
from conductor.moments import Now

KEPT_SECONDS = 10.0
"""After so long what other conductors of the cell were told counts here, too."""


class AgentVersions:
    """The versions by the name of the agent. ``monotonic``: a clock that only goes forward."""

    def __init__(self, database: Database, *, monotonic: Now) -> None:
        self._database = database
        self._monotonic = monotonic
        self._guard = threading.Lock()
        self._versions: Mapping[str, int] = {}
        self._read_at: float | None = None

    def of(self, agent: str | None) -> int:
        """Return the oldest version of what an agent carries; 0 for one that is not known.

        Without a name, that of the oldest agent. An agent that was older is looked at each time: it
        may have been upgraded, and another conductor was told.
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
        """Read them again before the next question: somebody reported another version."""
        with self._guard:
            self._read_at = None

    def _current(self) -> Mapping[str, int]:
        with self._guard:
            is_fresh = (
                self._read_at is not None and self._monotonic() - self._read_at < KEPT_SECONDS
            )
            if is_fresh:
                return self._versions
            self._read_at = self._monotonic()
        with self._database.reader() as session:
            found = services.versions_of_agents(session)
        with self._guard:
            self._versions = found
        return found
