"""Periodic audit of placement by a super conductor.

It reports orphaned consumers without releasing them, and adds missing allocations of servers.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from armillary import exception, service_metrics
from armillary.context import admin_context
from armillary.outage_log import OutageLog
from conductor.common.clock import Clock, moment
from conductor.super_conductor.repair.allocation_audit import (
    MOVE,
    SERVER,
    Audit,
    AuditOptions,
    AuditResult,
)
from conductor.super_conductor.repair.heal_allocations import HealResult
from conductor.super_conductor.repair.missing_allocations import MissingAllocations
from conductor.super_conductor.repair.orphaned_allocations import Orphans
from placement.interface import PlacementAPI

LOG = logging.getLogger(__name__)

MIN_AGE = timedelta(hours=1)
"""Consumers that changed more recently are skipped: their server may not be recorded yet."""
LOGGED_LINES_MAX = 10_000
"""Maximum number of lines remembered as logged; beyond that, lines are logged again."""


class PeriodicAudit:
    """Any number of super conductors may run it: audits only read, and heal each server once."""

    def __init__(
        self, placement: PlacementAPI, orphans: Orphans, lacking: MissingAllocations, now: Clock
    ) -> None:
        self._placement = placement
        self._orphans = orphans
        self._missing_allocations = lacking
        self._now = now
        self._outage = OutageLog(LOG, "Placement (audit)")
        self._outage_of_healing = OutageLog(LOG, "Placement, or a scheduler, (audit of servers)")
        self._logged: set[str] = set()

    def run(self) -> None:
        """Audit all consumers, then all servers."""
        self.look_at_consumers()
        self.look_at_servers()

    def look_at_servers(self) -> HealResult | None:
        """Heal servers once; return None if that failed, or if there is nothing to heal by."""
        try:
            result = self._missing_allocations.heal(
                admin_context(), say=self._say_of_server, tell=lambda line: LOG.debug("%s", line)
            )
        except (exception.Unavailable, exception.RpcFailed) as error:
            self._outage_of_healing.failed(error)
            return None
        self._outage_of_healing.succeeded()
        shown = result or HealResult()
        service_metrics.servers_audited(
            healed=shown.healed,
            refused=shown.refused,
            misplaced=shown.misplaced,
            without_node=shown.without_node,
        )
        return result

    def look_at_consumers(self) -> AuditResult | None:
        """Audit all consumers once; return None when placement does not answer."""
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
        service_metrics.consumers_audited(
            orphaned=result.orphans, foreign=result.foreign, unsure=result.unsure
        )
        return result

    def _say_orphan(self, line: str) -> None:
        self._say_once(line, "run `armillary-manage placement audit --delete` to release it")

    def _say_of_server(self, line: str) -> None:
        self._say_once(line, "found by the audit of servers")

    def _say_once(self, line: str, more: str) -> None:
        if line in self._logged:
            return
        if len(self._logged) >= LOGGED_LINES_MAX:
            self._logged.clear()
        self._logged.add(line)
        LOG.warning("%s; %s", line, more)
