"""The audit that a super conductor does by itself: it shows what it finds, and releases nothing."""

from __future__ import annotations

import logging
from datetime import timedelta

from armillary import exception, measures
from armillary.context import admin_context
from armillary.log_once import OutageLog
from conductor.audit import MOVE, SERVER, Audit, AuditOptions, AuditResult
from conductor.moments import Now, moment
from conductor.orphans import Orphans
from placement.rpcapi import PlacementAPI

LOG = logging.getLogger(__name__)

MIN_AGE = timedelta(hours=1)
"""What changed later may be on its way to be somebody's."""
SAID_MAX = 10_000
"""So many orphans are remembered as said; then they are said again."""


class AuditWatch:
    """Any number of super conductors may do so: they look."""

    def __init__(self, placement: PlacementAPI, orphans: Orphans, now: Now) -> None:
        self._placement = placement
        self._orphans = orphans
        self._now = now
        self._outage = OutageLog(LOG, "Placement (audit)")
        self._said: set[str] = set()

    def run(self) -> AuditResult | None:
        """Look at all consumers once; None when placement did not answer."""
        audit = Audit(
            admin_context(),
            self._placement,
            {SERVER: self._orphans.find, MOVE: self._orphans.find_migrations},
            AuditOptions(delete=False, provider=None, min_age=MIN_AGE),
            now=lambda: moment(self._now()),
            say=self._say_once,
            tell=lambda line: LOG.debug("%s", line),
            show=lambda _count, _more: None,
        )
        try:
            result = audit.run()
        except (exception.Unavailable, exception.RpcFailed) as error:
            self._outage.failed(error)
            return None
        self._outage.succeeded()
        measures.consumers_audited(
            orphaned=result.orphans, foreign=result.foreign, unsure=result.unsure
        )
        return result

    def _say_once(self, line: str) -> None:
        if line in self._said:
            return
        if len(self._said) >= SAID_MAX:
            self._said.clear()
        self._said.add(line)
        LOG.warning("%s; `armillary-manage placement audit --delete` releases it", line)
