"""Run log: the runs of an agent, in its journal, so that a run knows which ones it follows."""

import contextlib
import uuid
from pathlib import Path

from compute_agent.journal.journal import Journal
from objects.hosts.agent_run import AgentRun

FOLLOWS_MAX = 8
"""Number of earlier runs to name; a run that was never admitted is one, too."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class RunLog:
    """The runs that used this journal."""

    def __init__(self, journal: Journal, path: Path) -> None:
        self._journal = journal
        self._path = path

    def begin(self) -> AgentRun:
        """Record a new run, and return it with those that it follows.

        Earlier runs count if they used this very file since the machine's last boot: only then is
        it certain that they have ended. In a copy of the file, or on a clone of the machine, their
        process may still live.
        """
        place = self._place()
        run = str(uuid.uuid4())
        with self._journal.transaction() as cursor:
            rows = cursor.execute(
                "SELECT id FROM runs WHERE place = ? ORDER BY number DESC LIMIT ?",
                (place, FOLLOWS_MAX),
            ).fetchall()
            follows = [str(row[0]) for row in rows]
            cursor.execute("DELETE FROM runs")
            for each in [*reversed(follows), run]:
                cursor.execute("INSERT INTO runs (id, place) VALUES (?, ?)", (each, place))
        return AgentRun(run, follows)

    def _place(self) -> str:
        """Return what names this file on this machine, until its next boot."""
        boot = ""
        with contextlib.suppress(OSError):
            boot = _BOOT_ID.read_text(encoding="ascii").strip()
        with contextlib.suppress(OSError):
            found = self._path.stat()
            return f"{boot}/{found.st_dev}/{found.st_ino}"
        return boot
