"""Push of this zone's summary: periodically, and early when capabilities change."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from oslo_config import cfg

from armillary import exception
from armillary.outage_log import OutageLog
from objects.zones.zone_summary import ZoneSummary
from scheduler.zones.capabilities import is_worth_pushing

LOG = logging.getLogger(__name__)

PUSHES_PER_SECOND_MAX = 2
_WORK_SHARE_MAX = 0.02
"""Maximum share of one CPU's time spent on checking for changes."""


class SummaryPusher:
    """Pushes the summary of this zone. Call ``tick`` twice a second. Thread-safe.

    ``make`` creates the summary and ``send`` sends it. ``is_ready`` returns whether all cells were
    asked for their hosts; until then nothing is pushed, because it would understate the zone. Hosts
    of a cell that does not answer count as down. ``work_clock`` returns CPU time in seconds: the
    longer a summary takes, the longer the pause before the next check for changes.
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
        self._outage = OutageLog(LOG, "The broker for the zone's summary")

    @property
    def last(self) -> ZoneSummary | None:
        """The last summary created; None before the first."""
        return self._last

    def note_change(self) -> None:
        """Make the next tick check for changes."""
        self._has_changed = True

    def tick(self) -> None:
        """Push if a push is due or if the capabilities changed."""
        with self._lock:
            now, due_at = self._clock(), self._sent_at + self._conf.zones.push_seconds
            is_due = self._last is None or now >= due_at
            # A due push ignores the pause, so leave time for one pause before it.
            may_look = self._looked_at + self._pause_seconds <= now <= due_at - self._pause_seconds
            if not (is_due or (self._has_changed and may_look)) or not self._is_ready():
                return
            self._has_changed = False
            made = self._made()
            before = None if self._last is None else self._last.capabilities
            if is_due or is_worth_pushing(before, made.capabilities):
                self._push(made)

    def push(self) -> None:
        """Push now."""
        with self._lock:
            if self._is_ready():
                self._push(self._made())

    def _made(self) -> ZoneSummary:
        """Create a summary and set the pause before the next check by the time that it took."""
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
