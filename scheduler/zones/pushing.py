"""When a zone pushes its summary: every so often, and soon when there is news."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from oslo_config import cfg

from armillary import exception
from armillary.log_once import OutageLog
from objects.zone_summary import ZoneSummary
from scheduler.zones.capabilities import is_news

LOG = logging.getLogger(__name__)

PUSHES_PER_SECOND_MAX = 2
_WORK_SHARE_MAX = 0.02
"""So much of one processor's time goes into looking for news at most."""


class Pushing:
    """Pushes the summary of this zone; ``tick`` is to be called twice a second. Thread-safe.

    ``make`` makes the summary, ``send`` sends it, ``is_ready`` tells whether all cells were
    asked for their hosts: before that nothing is pushed, as it would promise too little. Hosts of a
    cell that does not answer are as good as down. ``work_clock`` tells seconds of processor time:
    the more a summary takes, the longer the pause before the next look for news.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        make: Callable[[], ZoneSummary],
        send: Callable[[ZoneSummary], None],
        is_ready: Callable[[], bool],
        clock: Callable[[], float],
        work_clock: Callable[[], float],
    ) -> None:
        self._conf = conf
        self._make = make
        self._send = send
        self._is_ready = is_ready
        self._clock = clock
        self._work_clock = work_clock
        self._lock = threading.Lock()
        self._last: ZoneSummary | None = None
        self._sent_at = 0.0
        self._has_changed = True
        self._looked_at = 0.0
        self._pause_seconds = 0.0
        self._outage = OutageLog(LOG, "The broker, where the zone's summary goes,")

    @property
    def last(self) -> ZoneSummary | None:
        """The last summary that was made; None before the first."""
        return self._last

    def note_change(self) -> None:
        """Have the next tick look whether there is news."""
        self._has_changed = True

    def tick(self) -> None:
        """Push when it is time, or when there is news."""
        with self._lock:
            now, due_at = self._clock(), self._sent_at + self._conf.zones.push_seconds
            is_due = self._last is None or now >= due_at
            # What is due comes without a pause: before it there has to be time for one.
            may_look = self._looked_at + self._pause_seconds <= now <= due_at - self._pause_seconds
            if not (is_due or (self._has_changed and may_look)) or not self._is_ready():
                return
            self._has_changed = False
            made = self._made()
            before = None if self._last is None else self._last.capabilities
            if is_due or is_news(before, made.capabilities):
                self._push(made)

    def push(self) -> None:
        """Push now."""
        with self._lock:
            if self._is_ready():
                self._push(self._made())

    def _made(self) -> ZoneSummary:
        """Make a summary, and put the next look off by what that took."""
        started = self._work_clock()
        made = self._make()
        self._looked_at = self._clock()
        self._pause_seconds = (self._work_clock() - started) / _WORK_SHARE_MAX
        return made

    def _push(self, made: ZoneSummary) -> None:
        self._last, self._sent_at = made, self._clock()
        try:
            self._send(made)
        except exception.Unavailable as error:
            self._outage.failed(error)
        else:
            self._outage.succeeded()
