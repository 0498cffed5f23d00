"""The clock of a database's server, which all processes that share the database go by."""

import time
from collections.abc import Callable

from armillary import exception
from armillary.concurrency.periodic import PeriodicTask
from armillary.db.database import Database

READ_INTERVAL_SECONDS = 10.0
ANSWER_SECONDS_MAX = 1.0
"""An answer that took longer is not used: this process or the server was paused meanwhile."""

_QUESTIONS = {
    "postgresql": "SELECT extract(epoch FROM clock_timestamp()) AS seconds",
    "mysql": "SELECT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) / 1e6 AS seconds",
}
"""A file of SQLite has no server: who shares it shares a machine and its clock."""


class DatabaseClock:
    """Seconds since 1970 by the database's server, as last read, and counted on from there.

    A clock of this machine that is wrong or set, by an hour for example, changes nothing then: a
    lease would otherwise be taken from its holder, or be free for no conductor for that hour.
    Until the first answer it is this machine's.
    """

    def __init__(
        self,
        database: Database,
        *,
        here: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._here = here
        self._monotonic = monotonic
        self._ahead: float | None = None
        """What to add to the monotonic clock."""

    def __call__(self) -> float:
        return self._here() if self._ahead is None else self._monotonic() + self._ahead

    def task(self) -> PeriodicTask:
        """Return the periodic task that reads the clock."""
        return PeriodicTask("read-clock", READ_INTERVAL_SECONDS, self.read)

    def read(self) -> None:
        """Ask the server; what was known is kept if it does not answer soon."""
        question = _QUESTIONS.get(self._database.dialect)
        if question is None:
            return
        asked_at = self._monotonic()
        try:
            seconds = float(self._database.peek(question)[0])
        except exception.DatabaseUnavailable:
            return
        now = self._monotonic()
        if now - asked_at <= ANSWER_SECONDS_MAX:
            self._ahead = seconds - (asked_at + now) / 2
