"""The audit that a super conductor does by itself.

It shows what is nobody's and releases none of it; servers that lack something are given that.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from armillary import exception, measures
from armillary.context import admin_context
from armillary.log_once import OutageLog
from conductor.audit import MOVE, SERVER, Audit, AuditOptions, AuditResult
from conductor.heal import HealResult
from conductor.lacking import Lacking
from conductor.moments import Now, moment
from conductor.orphans import Orphans
from placement.rpcapi import PlacementAPI

LOG = logging.getLogger(__name__)

MIN_AGE = timedelta(hours=1)
"""What changed later may be on its way to be somebody's."""
SAID_MAX = 10_000
"""So many lines are remembered as said; then they are said again."""


class AuditWatch:
    """Any number of super conductors may do so: they look, and what they heal is healed once."""

    def __init__(
        self, placement: PlacementAPI, orphans: Orphans, lacking: Lacking, now: Now
    ) -> None:
        self._placement = placement
        self._orphans = orphans
        self._lacking = lacking
        self._now = now
        self._outage = OutageLog(LOG, "Placement (audit)")
        self._outage_of_healing = OutageLog(LOG, "Placement, or a scheduler, (audit of servers)")
        self._said: set[str] = set()

    def run(self) -> None:
        """Look at all consumers, then at all servers."""
        self.look_at_consumers()
        self.look_at_servers()

    def look_at_servers(self) -> HealResult | None:
        """Heal servers once; None when somebody did not answer, or there is nothing to heal by."""
        try:
            result = self._lacking.heal(
                admin_context(), say=self._say_of_server, tell=lambda line: LOG.debug("%s", line)
            )
        except (exception.Unavailable, exception.RpcFailed) as error:
            self._outage_of_healing.failed(error)
            return None
        self._outage_of_healing.succeeded()
        shown = result or HealResult()
        measures.servers_audited(
            healed=shown.healed,
            refused=shown.refused,
            misplaced=shown.misplaced,
            without_node=shown.without_node,
        )
        return result

    def look_at_consumers(self) -> AuditResult | None:
        """Look at all consumers once; None when placement did not answer."""
        audit = Audit(
            admin_context(),
            self._placement,
            {SERVER: self._orphans.find, MOVE: self._orphans.find_migrations},
            AuditOptions(delete=False, provider=None, min_age=MIN_AGE),
            now=lambda: moment(self._now()),
            say=self._say_orphan,
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

    def _say_orphan(self, line: str) -> None:
        self._say_once(line, "`armillary-manage placement audit --delete` releases it")

    def _say_of_server(self, line: str) -> None:
        self._say_once(line, "found by the audit of servers")

    def _say_once(self, line: str, more: str) -> None:
        if line in self._said:
            return
        if len(self._said) >= SAID_MAX:
            self._said.clear()
        self._said.add(line)
        LOG.warning("%s; %s", line, more)
